"""Scaling by statistics of all rows, out of sight of the split: in a function that gets
the rows, or column by column in a table.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    iter_assignments,
    list_parameters,
)

STATISTICS = operators_with("measures_spread") | {"mean", "median"} | {"min", "max"}
CHOSEN = re.compile(r"fit|split|is_train|stat|mean|std|scaler|n_train|mode", re.I)
"""Parameters with which a function is told the rows or the statistics to take."""


def is_scaled_in_function(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call hands all rows to a function of the program that scales
    them by statistics of their own: `def normalize(df): ... df[c].mean() ...`.
    """
    named = text.functions(get_called_name(call))
    if len(named) != 1 or not call.args or not isinstance(call.args[0], ast.Name):
        return False
    rows = call.args[0].id
    if EVALUATED.search(rows) or TRAINED.search(rows):
        return False
    function = named[0][1]
    parameters = [name for name in list_parameters(function) if name != "self"]
    if not parameters or any(map(CHOSEN.search, parameters)):
        return False
    if text.around(function, *FUNCTIONS) is not None:
        return False
    names = {parameters[0]}
    for target, value in iter_assignments(function):
        if isinstance(target, ast.Name) and _get_root(value) in names:
            names.add(target.id)  # a copy
    return any(
        isinstance(node, ast.BinOp)
        and is_own_scaling(text, node, node.lineno)
        and isinstance(node.left, ast.BinOp)
        and _get_root(node.left.left) in names
        for node in ast.walk(function)
    )


def find_scaled_column(text: SourceText, rows: ast.Name, line: int) -> ast.BinOp | None:
    """Return the first expression that scales a column of a table by statistics of the
    whole column, `df["x"] = (df["x"] - df["x"].mean()) / df["x"].std()`, above a line.
    """
    scope = text.around(rows, *FUNCTIONS) or text.tree
    if EVALUATED.search(rows.id) or TRAINED.search(rows.id):
        return None
    for target, value in iter_assignments(scope, before=line):
        if text.around(target, *FUNCTIONS) is not text.around(rows, *FUNCTIONS):
            continue
        if not isinstance(target, ast.Subscript) or _get_root(target) != rows.id:
            continue
        if isinstance(value, ast.BinOp) and is_own_scaling(text, value, line):
            return value
    return None


def is_own_scaling(text: SourceText, node: ast.BinOp, line: int) -> bool:
    """Return whether an expression scales rows by their own statistics:
    `(x - x.mean(0)) / x.std(0)`, `(df[c] - df[c].mean()) / df[c].std()`.
    """
    left = node.left
    if not isinstance(node.op, ast.Div) or not isinstance(left, ast.BinOp):
        return False
    if not isinstance(left.op, ast.Sub) or not _is_whole(left.left):
        return False
    rows = ast.unparse(left.left)
    root = _get_root(left.left)
    if EVALUATED.search(root) or TRAINED.search(root):
        return False
    centre = _is_statistic(text, left.right, rows, line)
    spread = any(
        _is_statistic(text, part, rows, line)
        for part in ast.walk(node.right)
        if isinstance(part, ast.Name | ast.Call)
    )
    return centre and spread


def _is_whole(node: ast.expr) -> bool:
    """Return whether an expression is a table, or columns of it by name: no rows."""
    if isinstance(node, ast.Name):
        return True
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and (
            isinstance(node.slice, ast.Name | ast.List)
            or (
                isinstance(node.slice, ast.Constant)
                and isinstance(node.slice.value, str)
            )
        )
    )


def _get_root(node: ast.AST) -> str:
    """Return `df` of `df[c]`, of `df.copy()` and of `df`, or an empty string."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_statistic(text: SourceText, node: ast.expr, rows: str, line: int) -> bool:
    """Return whether an expression is a statistic of all rows of a table."""
    if isinstance(node, ast.Name):
        value = find_last_value(text, node, line)
        if isinstance(value, ast.Tuple):
            return all(_is_statistic(text, v, rows, line) for v in value.elts)
        node = value if value is not None else node
    if not isinstance(node, ast.Call) or get_called_name(node) not in STATISTICS:
        return False
    owner = get_receiver(node)
    is_method = owner is not None and ast.unparse(owner) == rows
    is_function = bool(node.args) and ast.unparse(node.args[0]) == rows
    if not is_method and not is_function:
        return False
    dims = node.args[1:] if is_function else node.args
    dims = dims + [w.value for w in node.keywords if w.arg in ("axis", "dim")]
    return all(re.match(r"\(?\[?0\b", ast.unparse(dim)) is not None for dim in dims[:1])
