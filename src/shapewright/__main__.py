"""`python -m shapewright` is `shapewright`."""

from shapewright.cli.main import command

raise SystemExit(command())
