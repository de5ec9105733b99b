"""Find parts of one table that a function or a class of the program standardizes, each
by the statistics of its own rows.

What tensors show is found in `own_statistics.py`; tables of NumPy and pandas
are read here, in the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import OWN_STATISTICS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    iter_assignments,
)

CENTRES = operators_with("adds_up_elements", "finds_extremes") | {"median"}
JOINS = operators_with("joins_tensors", "concatenates") | {"ConcatDataset"}
MOST_PARTS = 3
"""Parts of a table: for training, validation and test."""


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A division by which a definition standardizes what it gets, and which of the
    arguments of a call that is.
    """

    division: ast.BinOp
    place: int
    argument: str


def find_own_table_statistics(program: Program) -> Iterator[Finding]:
    """Find two calls that standardize the two parts of a table by their own rows."""
    for text in program.own_texts():
        for name, scaled in _iter_scaling(text):
            calls = _list_parts(text, name, scaled)
            if len(calls) > MOST_PARTS or _is_joined_again(text, calls):
                continue
            for (first, rows), (call, more) in pairwise(calls):
                if not _is_cut_apart(text, rows, more):
                    continue
                yield Finding(
                    OWN_STATISTICS,
                    "warning",
                    f"`{text.line_of(more)}` is standardized by its own mean and"
                    f" deviation, and `{text.line_of(rows)}` of the same table by its"
                    " own: one value means two things",
                    text.span(call),
                    related=(
                        Related(text.span(scaled.division), "each call takes its own"),
                        Related(text.span(first), "the other part"),
                    ),
                )


def _iter_scaling(text: SourceText) -> Iterator[tuple[str, _Scaled]]:
    """Yield the functions and classes that standardize an argument by its own rows."""
    for _, function in text.functions():
        parameters = [argument.arg for argument in function.args.args]
        owner = text.parent(function)
        name = function.name
        if isinstance(owner, ast.ClassDef):
            if name != "__init__":
                continue
            name, parameters = owner.name, parameters[1:]
        for place, parameter in enumerate(parameters):
            division = _find_scaling(function, parameter, parameters)
            if division is not None:
                yield name, _Scaled(division, place, parameter)
                break


def _find_scaling(
    function: ast.AST, parameter: str, parameters: list[str]
) -> ast.BinOp | None:
    """Return the division by which a function standardizes an argument by itself."""
    rows, centres = {parameter}, set[str]()
    for target, value in iter_assignments(function, unpacked=True):
        if _is_centre(value, rows):
            centres.add(ast.unparse(target))
        elif collect_names(value) & rows and isinstance(target, ast.Name):
            rows.add(target.id)
    if centres & {*parameters}:
        return None  # a call may pass the statistics
    for node in ast.walk(function):
        difference = node.left if isinstance(node, ast.BinOp) else None
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and isinstance(difference, ast.BinOp)
            and isinstance(difference.op, ast.Sub)
            and collect_names(difference.left) & rows
            and (
                ast.unparse(difference.right) in centres
                or _is_centre(difference.right, rows)
            )
        ):
            return node
    return None


def _is_centre(node: ast.expr, rows: set[str]) -> bool:
    """Return whether an expression is the mean, or the least, of all rows."""
    if not isinstance(node, ast.Call) or get_called_name(node) not in CENTRES:
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    given_rows = owner is not None and bool(collect_names(owner) & rows)
    rest = list(node.args)
    if not given_rows:
        if not rest or not collect_names(rest[0]) & rows:
            return False
        rest = rest[1:]
    dims = [word.value for word in node.keywords if word.arg in ("axis", "dim")]
    dims += rest[:1]
    return not dims or any(
        isinstance(part, ast.Constant) and part.value == 0 for part in ast.walk(dims[0])
    )


def _list_parts(
    text: SourceText, name: str, scaled: _Scaled
) -> list[tuple[ast.Call, ast.expr]]:
    """Return the calls of a definition, each with the rows that it is passed."""
    calls = []
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != name:
            continue
        words = [w.value for w in node.keywords if w.arg == scaled.argument]
        rows = [*node.args[scaled.place : scaled.place + 1], *words]
        if rows:
            calls.append((node, rows[0]))
    return sorted(calls, key=lambda item: (item[0].lineno, item[0].col_offset))


def _is_cut_apart(text: SourceText, rows: ast.expr, other: ast.expr) -> bool:
    """Return whether two expressions are the two parts of one table."""
    cuts = [_find_cut(text, part) for part in (rows, other)]
    return None not in cuts and cuts[0] == cuts[1] and ast.dump(rows) != ast.dump(other)


def _find_cut(text: SourceText, rows: ast.expr) -> str | None:
    """Return what says of which cut of which table an expression is a part."""
    if isinstance(rows, ast.Name):
        for target, value in iter_assignments(text.tree, rows.lineno):
            if rows.id not in collect_names(target):
                continue
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            place = next(
                (i for i, p in enumerate(parts) if ast.unparse(p) == rows.id), None
            )
            if place is None:
                return None  # within another tuple
            is_split = "split" in get_called_name(value) or get_called_name(value) in (
                "chunk", "tensor_split",
            )  # fmt: skip
            if isinstance(target, ast.Tuple) and is_split:
                several = len(value.args) if isinstance(value, ast.Call) else 1
                of = place // 2 if several > 1 and get_called_name(value).startswith(
                    "train_") else 0  # fmt: skip
                return f"{value.lineno} {of}"
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                return _find_slice(value.elts[place])
            if isinstance(value, ast.Subscript) and isinstance(target, ast.Name):
                return _find_slice(value)
        return None
    return _find_slice(rows)


def _find_slice(rows: ast.expr) -> str | None:
    """Return the table and the place at which a slice of its rows ends or begins."""
    while isinstance(rows, ast.Call) and isinstance(rows.func, ast.Attribute):
        rows = rows.func.value  # `table[:n].copy()`
    if not isinstance(rows, ast.Subscript):
        return None
    index = rows.slice
    if isinstance(index, ast.Tuple) and index.elts:
        index = index.elts[0]
    table = ast.unparse(rows.value)
    if isinstance(index, ast.Subscript):  # `table[order[:n]]`
        table, index = f"{table}[{ast.unparse(index.value)}]", index.slice
    if not isinstance(index, ast.Slice) or index.step is not None:
        return None
    ends = [end for end in (index.lower, index.upper) if end is not None]
    return f"{table} {ast.unparse(ends[0])}" if len(ends) == 1 else None


def _is_joined_again(text: SourceText, calls: list[tuple[ast.Call, ast.expr]]) -> bool:
    """Return whether the standardized parts are put together again."""
    names = set[str]()
    for call, _ in calls:
        statement = text.statement_of(call)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                names |= collect_names(target)
    return any(
        isinstance(node, ast.Call)
        and get_called_name(node) in JOINS
        and (
            len(collect_names(node) & names) > 1
            or sum(call in ast.walk(node) for call, _ in calls) > 1
        )
        for node in text.nodes
    )
