"""Texts that stand for the program's files, while an edit is tried; changed trees."""

from __future__ import annotations

import ast
import importlib.machinery
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType
from typing import Any

from shapewright.source.stand_ins import STAND_INS

Change = Callable[[ast.Module, str], ast.Module]
"""What is done to the tree of a file before it is compiled."""

CHANGES: list[tuple[Callable[[str], bool], Change]] = []
"""Which files are changed, and how."""


def text_of(file: str) -> str | None:
    """The text that stands for a file, None where the file itself counts."""
    return STAND_INS.get(os.path.abspath(file)) if STAND_INS else None


def install(texts: Mapping[str, str]) -> None:
    """Let these texts, and no others, stand for their files from now on."""
    STAND_INS.clear()
    STAND_INS.update(texts)
    _hook()


@contextmanager
def changing(holds: Callable[[str], bool], change: Change) -> Iterator[None]:
    """Files that are imported in the block are changed, where `holds` says so."""
    _hook()
    CHANGES.append((holds, change))
    try:
        yield
    finally:
        CHANGES.pop()


def compiled(tree: ast.Module, file: str) -> CodeType:
    """The code of a file, changed where it is to be."""
    for holds, change in CHANGES:
        if holds(file):
            tree = change(tree, file)
    return compile(tree, file, "exec", dont_inherit=True)


def _hook() -> None:
    loader = importlib.machinery.SourceFileLoader
    if loader.get_code.__module__ == __name__:
        return
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        path = os.path.abspath(self.get_filename(fullname))
        if path in STAND_INS or any(holds(path) for holds, _ in CHANGES):
            text = STAND_INS.get(path)
            data = self.get_data(path) if text is None else text.encode()
            return compiled(ast.parse(data, path), path)
        return original(self, fullname)

    loader.get_code = get_code  # type: ignore[method-assign]
