"""The files of a folder that define models: what `check .` and `trace .` run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from shapewright.inputs.errors import InputError
from shapewright.inputs.python_files import read_source
from shapewright.program.runnable_definitions import find_runnables
from shapewright.record.report import Skipped

_LEFT_OUT = frozenset(("__pycache__", "node_modules", "site-packages", "build", "dist"))
"""Folders without code of the user's, besides hidden ones and environments."""

_MODELS = ("class", "instance", "builder")


def find_models(folder: str) -> tuple[list[str], list[Skipped]]:
    """Return the Python files and notebooks below a folder that define a model, in the
    order of their names, and those that cannot be read.

    A file with functions or a script only is no model; tests and `conftest.py` are left
    out. Raises `InputError` for a folder without a model.
    """
    models: list[str] = []
    skipped: list[Skipped] = []
    for path in _iter_files(Path(folder)):
        try:
            runnables = find_runnables(read_source(str(path))[1])
        except InputError as error:
            skipped.append(Skipped(str(path), str(error).partition("\n")[0]))
            continue
        if any(runnable.kind in _MODELS for runnable in runnables):
            models.append(str(path))
    if not models:
        raise InputError(
            f"`{folder}` has no file that defines a model; name what to run, as in"
            " `FILE.py:NAME`"
        )
    return models, skipped


def _iter_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that mention torch, before those of its folders."""
    inner = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path = folder / entry.name
        if entry.is_dir() and not entry.is_symlink():
            inner.append(path)
        elif (
            path.suffix in (".py", ".ipynb") and not _is_test(path) and _has_torch(path)
        ):
            yield path
    for path in inner:
        hidden = path.name.startswith(".") or path.name in _LEFT_OUT
        if not hidden and not (path / "pyvenv.cfg").exists():
            yield from _iter_files(path)


def _is_test(path: Path) -> bool:
    return path.stem == "conftest" or path.stem.startswith("test_")


def _has_torch(path: Path) -> bool:
    try:
        return b"torch" in path.read_bytes()
    except OSError:
        return False
