"""Find statistics of all rows that scale a loss or the data of a training whose rows
are cut off the same table afterwards: `scale = y.std(0)`, then `y[:n]` and `y[n:]`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.preparations import EVALUATED, TRAINED
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    list_reads,
)

STATISTICS = operators_with("measures_spread") | {"mean", "median"}
SCOPES = (*FUNCTIONS, ast.Module)


@dataclass(frozen=True, slots=True)
class EarlyWeight:
    """A statistic of all rows, the name of the table in it, and where its first rows
    are cut off for the training.
    """

    statistic: ast.Call
    table: ast.Name
    first: ast.Subscript


def iter_early_weights(text: SourceText) -> Iterator[EarlyWeight]:
    """Yield statistics of all rows of a table, whose name something is divided or
    multiplied by, and whose rows are cut into two parts behind them.
    """
    for statement in text.nodes:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or not _is_factor(text, target):
            continue
        for call in ast.walk(statement.value):
            if not isinstance(call, ast.Call):
                continue
            table = _find_table(call)
            first = _find_first_rows(text, statement, table) if table else None
            if table is not None and first is not None:
                yield EarlyWeight(call, table, first)
                break


def _is_factor(text: SourceText, target: ast.Name) -> bool:
    """Return whether something is divided or multiplied by a name that is set."""
    scope = text.around(target, *SCOPES)
    for read in list_reads(scope, target.id):
        above = text.parent(read)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div | ast.Mult):
            is_divided = isinstance(above.op, ast.Div) and above.left is read
            if not is_divided:
                return True
    return False


def _find_table(call: ast.Call) -> ast.Name | None:
    """Return the table whose rows a call takes a statistic of, if it is of all rows."""
    if get_called_name(call) not in STATISTICS:
        return None
    owner = get_receiver(call)
    operand = owner
    if isinstance(owner, ast.Name) and owner.id in ("torch", "np", "numpy"):
        operand = call.args[0] if call.args else None
    if operand is None or any(isinstance(n, ast.Subscript) for n in ast.walk(operand)):
        return None
    dims = call.args if operand is owner else call.args[1:]
    dims = dims + [w.value for w in call.keywords if w.arg in ("axis", "dim")]
    dim = ast.unparse(dims[0]).lstrip("([") if dims else "0"
    names = [n for n in ast.walk(operand) if isinstance(n, ast.Name)]
    is_of_table = len(names) == 1 and dim.startswith("0")
    is_named = is_of_table and not (
        EVALUATED.search(names[0].id) or TRAINED.search(names[0].id)
    )
    return names[0] if is_named else None


def _find_first_rows(
    text: SourceText, statement: ast.stmt, table: ast.Name
) -> ast.Subscript | None:
    """Return `x[:n]` of the training behind a statement of the same function, beside
    `x[n:]` of an evaluation, where `x` is not set again before.
    """
    scope = text.around(statement, *SCOPES)
    parts = [
        node
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and isinstance(node.value, ast.Name)
        and node.value.id == table.id
        and node.lineno > statement.lineno
        and text.around(node, *SCOPES) is scope
    ]
    for part in sorted(parts, key=lambda node: node.lineno):
        rows = part.slice
        if not isinstance(rows, ast.Slice) or rows.lower is not None or not rows.upper:
            continue
        if not _is_named(text, part, TRAINED):
            continue
        bound = ast.unparse(rows.upper)
        has_end = any(
            _is_end(other, bound) and _is_named(text, other, EVALUATED)
            for other in parts
        )
        if has_end and not _is_set_between(scope, table, statement, part):
            return part
    return None


def _is_named(text: SourceText, part: ast.expr, pattern: re.Pattern[str]) -> bool:
    """Return whether the statement of an expression sets a name of a part of the data,
    such as `train_loader`.
    """
    names = collect_names(text.statement_of(part), ast.Store)
    return any(pattern.search(name) for name in names)


def _is_end(part: ast.Subscript, bound: str) -> bool:
    """Return whether an expression is the rows from a bound to the last one."""
    rows = part.slice
    if not isinstance(rows, ast.Slice) or rows.lower is None or rows.upper is not None:
        return False
    return ast.unparse(rows.lower) == bound and not bound.startswith("-")


def _is_set_between(
    scope: ast.AST | None, table: ast.Name, first: ast.stmt, last: ast.expr
) -> bool:
    """Return whether a table is set again between a statement and an expression."""
    return any(
        isinstance(node, ast.Assign | ast.AugAssign)
        and first.lineno < node.lineno <= last.lineno
        and table.id in collect_names(node, ast.Store)
        for node in (ast.walk(scope) if scope is not None else ())
    )
