"""The engine's attributes are written by its own methods."""

from __future__ import annotations

import ast
from pathlib import Path

import shapewright

SOURCE = Path(shapewright.__file__).parent


def writes(tree: ast.AST) -> list[int]:
    """The lines that assign to an attribute of something named `engine`."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = node.value
            name = owner.id if isinstance(owner, ast.Name) else ""
            name = owner.attr if isinstance(owner, ast.Attribute) else name
            if name == "engine":
                found.append(node.lineno)
    return found


def test_the_engine_is_written_by_itself() -> None:
    assert writes(ast.parse("stage.engine.call = 1\nengine.call += 1")) == [1, 2]
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in writes(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []
