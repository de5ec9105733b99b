"""Locals have the name of what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import shapewright

SOURCE = Path(shapewright.__file__).parent

VAGUE = {"told", "found", "made", "each", "one", "given", "said"}
"""Names that say of a thing only that it is there."""

BY_ATTRIBUTE = {("engine/memo.py", "made")}
"""Parameters that fill a slot of the same name."""


def bound_names(tree: ast.Module) -> Iterator[str]:
    """Names that are assigned, looped over or taken as parameters, in functions."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg


def test_locals_say_what_they_hold() -> None:
    vague = {
        (str(path.relative_to(SOURCE)), name)
        for path in SOURCE.rglob("*.py")
        for name in bound_names(ast.parse(path.read_text("utf-8")))
        if name in VAGUE
    }
    assert vague - BY_ATTRIBUTE == set()


def test_a_local_of_any_kind_is_seen() -> None:
    text = "def f(one):\n    for each in g(lambda said: [made for made in one]): ...\n"
    assert set(bound_names(ast.parse(text))) == {"one", "each", "said", "made"}
