"""Find splits that a condition makes: a data set whose constructor keeps the first rows
for training and the others else.

if flag == "train":
    data = data[:n_train]
else:
    data = data[n_train:]

The rows that all branches cut are what the data set had before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_last_name

WORD = re.compile(r"^(train|training|tr|val|valid|validation|test|eval|dev)$", re.I)
Branch = list[ast.stmt] | list[ast.expr]


def iter_branch_splits(text: SourceText) -> Iterator[tuple[ast.Subscript, ast.AST]]:
    """Yield the first rows that a branch keeps of data whose later rows another branch
    keeps, and the condition.
    """
    for node in text.nodes:
        if not isinstance(node, ast.If | ast.IfExp) or not _is_about_parts(node.test):
            continue
        outer = text.parent(node)
        if isinstance(outer, ast.If) and node in outer.orelse:
            continue  # an `elif`
        slices = [_list_row_slices(branch) for branch in _iter_branches(node)]
        for at, parts in enumerate(slices):
            rest = [part for other in slices[:at] + slices[at + 1 :] for part in other]
            for part in parts:
                whole = text.written(part.value)
                is_cut = any(
                    text.written(other.value) == whole and _is_later(other)
                    for other in rest
                )
                if is_cut and _is_first(part):
                    yield part, node


def _is_about_parts(test: ast.expr) -> bool:
    """Return whether a condition asks for the data for training or for evaluation."""
    words = [
        node.value
        for node in ast.walk(test)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    names = [
        get_last_name(node)
        for node in ast.walk(test)
        if isinstance(node, ast.Name | ast.Attribute)
    ]
    return any(map(WORD.search, words)) or any(
        TRAINED.search(name) or EVALUATED.search(name) for name in names
    )


def _iter_branches(node: ast.If | ast.IfExp) -> Iterator[Branch]:
    """Yield the branches of a condition, those of each `elif` among them."""
    if isinstance(node, ast.IfExp):
        yield [node.body]
        if isinstance(node.orelse, ast.IfExp):
            yield from _iter_branches(node.orelse)
        else:
            yield [node.orelse]
        return
    yield node.body
    rest = node.orelse
    if len(rest) == 1 and isinstance(rest[0], ast.If):
        yield from _iter_branches(rest[0])
    else:
        yield rest


def _list_row_slices(branch: Branch) -> list[ast.Subscript]:
    """Return the parts of tables that a branch keeps: `data[:n]` of `x = data[:n]`."""
    values = [
        node.value if isinstance(node, ast.Assign) else node
        for node in branch
        if isinstance(node, ast.Assign | ast.expr)
    ]
    values = [
        part
        for value in values
        for part in (value.elts if isinstance(value, ast.Tuple) else [value])
    ]
    return [
        value
        for value in values
        if isinstance(value, ast.Subscript)
        and isinstance(value.slice, ast.Slice)
        and value.slice.step is None
    ]


def _is_first(part: ast.Subscript) -> bool:
    """Return whether a slice is that of the first rows."""
    rows = part.slice
    return isinstance(rows, ast.Slice) and rows.lower is None and rows.upper is not None


def _is_later(part: ast.Subscript) -> bool:
    """Return whether a slice begins behind the first rows."""
    return isinstance(part.slice, ast.Slice) and part.slice.lower is not None
