"""`python -m shapewright` is `shapewright`."""

from shapewright.faces.cli.main import command

raise SystemExit(command())
