"""Read a project's settings for Shapewright from its `pyproject.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from shapewright.findings.codes import CODES
from shapewright.inputs.errors import InputError, suggest_name

FILE = "pyproject.toml"

KEYS = ("ignore",)
"""What `[tool.shapewright]` may hold."""


def read_ignored_codes(folder: str | None = None) -> frozenset[str]:
    """Codes of hazards that the project switches off::

        [tool.shapewright]
        ignore = ["outer-broadcast"]

    Read from the nearest `pyproject.toml` at or above `folder` (the working directory
    where it is None). Raises `InputError` where it cannot be read, and for a key or a
    code that changes nothing.
    """
    start = Path(folder) if folder is not None else Path.cwd()
    for place in (start, *start.parents):
        file = place / FILE
        if file.is_file():
            return _read_codes(file, _read_table(file).get("ignore", []))
    return frozenset()


def _read_table(file: Path) -> dict[str, Any]:
    """Read the table `[tool.shapewright]` of a file, and check its keys."""
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"`{file}` cannot be read: {error}") from None
    tool = document.get("tool", {})
    own = tool.get("shapewright", {}) if isinstance(tool, dict) else {}
    if not isinstance(own, dict):
        raise InputError(f"`tool.shapewright` in `{file}` must be a table of settings")
    for key in own:
        if key not in KEYS:
            hint = suggest_name(key, KEYS) or f"; there is {', '.join(KEYS)}"
            raise InputError(f"`[tool.shapewright]` in `{file}`: no key `{key}`{hint}")
    return own


def _read_codes(file: Path, codes: Any) -> frozenset[str]:
    """Return the codes in a list, and check that each of them can be switched off."""
    if not isinstance(codes, list) or not all(isinstance(item, str) for item in codes):
        raise InputError(f"`ignore` in `{file}` must be a list of finding codes")
    for code in codes:
        if code in CODES:
            if CODES[code].is_switchable:
                continue
            raise InputError(
                f"`ignore` in `{file}`: `{code}` is the code of an error, and errors "
                "are not switched off; remove it"
            )
        hint = suggest_name(code, sorted(CODES))
        raise InputError(f"`ignore` in `{file}`: no code `{code}`{hint}")
    return frozenset(codes)
