"""Find lists of an epoch's results that hold those of all epochs before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_line,
    iter_assignments,
)

READING = operators_with("adds_up_elements", "concatenates", "joins_tensors") | {
    "average", "fmean", "array",
}  # fmt: skip
"""Calls that read a list as a whole."""
METRICS = ("_score", "accuracy", "f1", "auc", "_error", "report", "confusion_matrix")
HISTORIES = (
    "hist", "curve", "log", "buffer", "memory", "replay", "recent", "window", "trace",
)  # fmt: skip
"""Parts of names of lists that are meant to go on."""


def iter_kept_lists(
    text: SourceText, loop: ast.For, epochs: ast.For
) -> Iterator[tuple[str, ast.Call, ast.stmt, ast.stmt]]:
    """Yield the lists that a loop over batches fills, that nothing empties in the loop
    over epochs around it, and that each epoch reads whole: the name, the call that
    reads it, its only start, and the statement that fills it.
    """
    scope = text.around(epochs, ast.FunctionDef, ast.Module)
    if scope is None:
        return
    filled: dict[str, ast.stmt] = {}
    for node in ast.walk(loop):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and get_called_name(call) in GROWING:
            owner = get_receiver(call)
            if owner is not None and isinstance(node, ast.stmt):
                filled.setdefault(ast.unparse(owner), node)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            filled.setdefault(ast.unparse(node.target), node)
    last = get_last_line(epochs)
    for name, growth in filled.items():
        start = _find_start(text, scope, epochs, name)
        is_meant = any(part in name.lower() for part in HISTORIES)
        if start is None or is_meant or _is_emptied(epochs, name):
            continue
        reads = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name) and node.id == name and node.lineno > 0
        ]
        if any(read.lineno > last for read in reads):
            continue  # of the whole run
        below = [r for r in reads if r.lineno > get_last_line(loop)]
        calls = [call for read in below if (call := _find_reader(text, read))]
        if calls and len(calls) == len(below):
            yield name, calls[0], start, growth


GROWING = frozenset({"append", "extend"})


def _find_start(
    text: SourceText, scope: ast.AST, epochs: ast.For, name: str
) -> ast.stmt | None:
    """Return the statement beside the loop over epochs that makes an empty list, if
    nothing else sets the name.
    """
    starts: list[tuple[ast.stmt, ast.expr]] = []
    for target, value in iter_assignments(scope, unpacked=True):
        if name in {ast.unparse(target), *collect_names(target)}:
            starts.append((text.statement_of(target), value))
    if len(starts) != 1:
        return None
    statement, value = starts[0]
    is_empty = isinstance(value, ast.List) and not value.elts
    is_beside = text.parent(statement) is text.parent(epochs)
    is_before = statement.lineno < epochs.lineno
    return statement if is_empty and is_beside and is_before else None


def _is_emptied(epochs: ast.For, name: str) -> bool:
    """Return whether a loop empties a list, or cuts it."""
    for node in ast.walk(epochs):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_own = ast.unparse(node.func.value) == name
            if is_own and node.func.attr not in GROWING:
                return True
        if isinstance(node, ast.Delete) and any(
            name in collect_names(target) for target in node.targets
        ):
            return True
    return False


def _find_reader(text: SourceText, read: ast.Name) -> ast.Call | None:
    """Return the call that makes one number of all results in a list, or None."""
    node: ast.AST | None = text.parent(read)
    while isinstance(node, ast.keyword | ast.Starred):
        node = text.parent(node)
    if not isinstance(node, ast.Call):
        return None
    name = get_called_name(node)
    is_metric = any(part in name.lower() for part in METRICS)
    return node if name in READING or is_metric else None
