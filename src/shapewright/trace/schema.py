"""The JSON Schema of the record, which ships with the package."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def schema() -> dict[str, Any]:
    """The schema of what `Trace.to_json` writes, as a dict.

    Example: ``jsonschema.validate(json.loads(trace.to_json()), schema())``.
    """
    text = files("shapewright.trace").joinpath("schema.json").read_text("utf-8")
    made: dict[str, Any] = json.loads(text)
    return made
