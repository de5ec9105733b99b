"""Read a project's settings for Shapewright from its `pyproject.toml`."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shapewright.findings.codes import CODES
from shapewright.inputs.errors import InputError, suggest_name

FILE = "pyproject.toml"

KEYS = ("ignore", "targets")
"""What `[tool.shapewright]` may hold."""


def read_ignored_codes(folder: str | None = None) -> frozenset[str]:
    """Codes of hazards that the project switches off::

        [tool.shapewright]
        ignore = ["outer-broadcast"]

    Read from the nearest `pyproject.toml` at or above `folder` (the working directory
    where it is None). Raises `InputError` where it cannot be read, and for a key or a
    code that changes nothing.
    """
    file = _find_file(Path(folder) if folder is not None else Path.cwd())
    if file is None:
        return frozenset()
    return _read_codes(file, _read_table(file).get("ignore", []))


@dataclass(frozen=True, slots=True)
class ProjectTarget:
    """A target that a project lists, with its inputs."""

    target: str
    spec: str | None = None


def read_targets() -> tuple[ProjectTarget, ...]:
    """Return the targets that a project lists for `shapewright check`::

        [tool.shapewright]
        targets = [
            "models/unet.py:UNet",
            { target = "text.py:TextNet", input = "i64[2, 16]" },
        ]

    Files are relative to the `pyproject.toml`, which is the nearest at or above the
    working directory. Raises `InputError` for an entry that is neither.
    """
    file = _find_file(Path.cwd())
    listed = _read_table(file).get("targets", []) if file is not None else []
    if file is None or not listed:
        return ()
    if not isinstance(listed, list):
        raise InputError(f"`targets` in `{file}` must be a list")
    return tuple(_read_target(file, entry) for entry in listed)


def _read_target(file: Path, entry: Any) -> ProjectTarget:
    """Return an entry of `targets`, as seen from the working directory."""
    table = {"target": entry} if isinstance(entry, str) else entry
    is_table = isinstance(table, dict) and all(
        isinstance(v, str) for v in table.values()
    )
    if not is_table or "target" not in table or not table.keys() <= {"target", "input"}:
        raise InputError(
            f"`targets` in `{file}`: {entry!r} is neither a target nor a table like"
            ' { target = "model.py:Net", input = "f32[8, 3]" }'
        )
    target = table["target"]
    place = (
        target.partition(":")[0] if ".py:" in target or ".ipynb:" in target else target
    )
    if file.parent != Path.cwd() and (file.parent / place).exists():
        target = os.path.relpath(file.parent / place) + target[len(place) :]
    return ProjectTarget(target, table.get("input"))


def _find_file(start: Path) -> Path | None:
    """Return the nearest `pyproject.toml` at or above a folder."""
    files = (place / FILE for place in (start, *start.parents))
    return next((file for file in files if file.is_file()), None)


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
