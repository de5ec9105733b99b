"""The value that a name has at a line: what it was last assigned above in its function.

neg, pos = np.bincount(labels)
weight = neg / pos  # `pos` is item 1 of the call
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_dotted_name,
    pair_targets,
)


def find_last_value(text: SourceText, name: ast.expr, line: int) -> ast.expr | None:
    """Return what a name or attribute was last assigned above a line in its function,
    or None; of a value that is unpacked, the whole.
    """
    values = [value for value, _ in iter_values(text, name, line)]
    return max(values, key=lambda value: value.lineno, default=None)


def find_last_item(
    text: SourceText, name: ast.expr, line: int
) -> tuple[ast.expr, int | None] | None:
    """Return what a name was last assigned above a line in its function, and which item
    of it the name is, if it is unpacked; None if nothing was.
    """
    values = list(iter_values(text, name, line))
    return max(values, key=lambda pair: pair[0].lineno, default=None)


def find_known_value(text: SourceText, name: ast.expr) -> ast.expr:
    """Return what a name was last assigned above it, in its function or outside of all;
    other expressions as they are.
    """
    value = find_last_value(text, name, name.lineno)
    if value is None and text.around(name, *FUNCTIONS) is not None:
        values = [v for v, _ in _iter_values_in(text, None, name, len(text.lines) + 1)]
        value = max(values, key=lambda v: v.lineno, default=None)
    return name if value is None else value


def iter_values(
    text: SourceText, name: ast.expr, line: int
) -> Iterator[tuple[ast.expr, int | None]]:
    """Yield what a name or attribute is assigned above a line in its function, and
    which item of it the name is, if it is unpacked.
    """
    return _iter_values_in(text, text.around(name, *FUNCTIONS), name, line)


def _iter_values_in(
    text: SourceText, scope: ast.AST | None, name: ast.expr, line: int
) -> Iterator[tuple[ast.expr, int | None]]:
    written = get_dotted_name(name)
    for node in text.nodes if written else ():
        if not isinstance(node, ast.Assign) or node.lineno >= line:
            continue
        if text.around(node, *FUNCTIONS) is not scope:
            continue
        for target in node.targets:
            for part, value in pair_targets(target, node.value):
                if get_dotted_name(part) == written:
                    yield value, None
                elts = part.elts if isinstance(part, ast.Tuple) else []
                for at, item in enumerate(elts):
                    if get_dotted_name(item) == written:
                        yield value, at
