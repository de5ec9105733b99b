"""What a project says of Shapewright in its `pyproject.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from shapewright.findings.pages import codes
from shapewright.inputs.errors import InputError, did_you_mean

FILE = "pyproject.toml"


def ignored_codes(folder: str | None = None) -> frozenset[str]:
    """Codes of hazards that the project switches off::

        [tool.shapewright]
        ignore = ["outer-broadcast"]

    Read from the nearest `pyproject.toml` at or above `folder` (the working directory
    where it is None). Raises `InputError` where it cannot be read, or names no code.
    """
    start = Path(folder) if folder is not None else Path.cwd()
    for place in (start, *start.parents):
        file = place / FILE
        if file.is_file():
            return listed(file, table(file).get("ignore", []))
    return frozenset()


def table(file: Path) -> dict[str, Any]:
    """The table `[tool.shapewright]` of a file."""
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"`{file}` cannot be read: {error}") from None
    tool = found.get("tool", {})
    own = tool.get("shapewright", {}) if isinstance(tool, dict) else {}
    return own if isinstance(own, dict) else {}


def listed(file: Path, given: Any) -> frozenset[str]:
    """The codes in a list, each of which has a page."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputError(f"`ignore` in `{file}` is a list of codes of findings")
    known = codes()
    for code in given:
        if code not in known:
            hint = did_you_mean(code, known)
            raise InputError(f"`ignore` in `{file}`: no code `{code}`{hint}")
    return frozenset(given)
