"""The statements of a file that set an attribute of some object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name


@dataclass(frozen=True, slots=True)
class AttributeWrite:
    """A statement that sets an attribute: `owner.name = value`.

    `value` is None where the new value is computed from the old one: `owner.n += 1`.
    """

    statement: ast.stmt
    owner: ast.expr
    value: ast.expr | None


def iter_attribute_writes(text: SourceText, name: str) -> Iterator[AttributeWrite]:
    """Yield the statements that set an attribute of that name, `setattr` too."""
    for node in text.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr == name:
                    yield AttributeWrite(node, target.value, node.value)
        elif isinstance(node, ast.AugAssign):
            target = node.target
            if isinstance(target, ast.Attribute) and target.attr == name:
                yield AttributeWrite(node, target.value, None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            arguments = node.value.args
            is_set = get_called_name(node.value) == "setattr" and len(arguments) == 3
            attribute = arguments[1] if is_set else None
            if isinstance(attribute, ast.Constant) and attribute.value == name:
                yield AttributeWrite(node, arguments[0], arguments[2])
