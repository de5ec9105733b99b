"""The value that a name has at a line: what it was last assigned above in its function.

neg, pos = np.bincount(labels)
weight = neg / pos  # `pos` is item 1 of the call
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, pair_targets


def find_last_value(text: SourceText, name: ast.Name, line: int) -> ast.expr | None:
    """Return what a name was last assigned above a line in its function, or None; of a
    value that is unpacked, the whole.
    """
    values = [value for value, _ in _iter_values(text, name, line)]
    return max(values, key=lambda value: value.lineno, default=None)


def find_last_item(
    text: SourceText, name: ast.Name, line: int
) -> tuple[ast.expr, int | None] | None:
    """Return what a name was last assigned above a line in its function, and which item
    of it the name is, if it is unpacked; None if nothing was.
    """
    values = list(_iter_values(text, name, line))
    return max(values, key=lambda pair: pair[0].lineno, default=None)


def _iter_values(
    text: SourceText, name: ast.Name, line: int
) -> Iterator[tuple[ast.expr, int | None]]:
    scope = text.around(name, *FUNCTIONS)
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or node.lineno >= line:
            continue
        if text.around(node, *FUNCTIONS) is not scope:
            continue
        for target in node.targets:
            for part, value in pair_targets(target, node.value):
                if isinstance(part, ast.Name) and part.id == name.id:
                    yield value, None
                elts = part.elts if isinstance(part, ast.Tuple) else []
                for at, item in enumerate(elts):
                    if isinstance(item, ast.Name) and item.id == name.id:
                        yield value, at
