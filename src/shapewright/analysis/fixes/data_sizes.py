"""Sizes that come from data: the width of the table that a model is given, and what is
fitted to a second part of the data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.causes import trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.constructors import change_layer_size
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE, INNER_DIM_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    iter_assignments,
)

OF_TABLES = frozenset({INNER_DIM_MISMATCH, INDEX_OUT_OF_RANGE})


def suggest_size_of_table(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.Linear(X.shape[1], 64)` where a layer gets another width than one
    that was read before the columns were chosen.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    wanted, got = find_sides(failure)
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or wanted is None:
        return
    if got is None or not op.module or op.inputs[got[0]].ndim < 2:
        return
    fact = op.inputs[got[0]]
    if got[1] != fact.ndim - 1 or trace_dim(program, fact, got[1]).why == "parameter":
        return
    needs, has = op.inputs[wanted[0]].shape[wanted[1]], fact.shape[got[1]]
    dim = "1" if fact.ndim == 2 else "-1"
    for frame in op.frames:
        place = program.call_at(frame.span)
        if place is None or not place[1].args:
            continue
        text, call = place
        for table in _list_tables(text, call):
            written = f"{table.id}.shape[{dim}]"
            fixes = change_layer_size(program, op.module, needs, has, written)
            for fix in fixes:
                if _is_behind(text, fix, table) and _has_name(text, fix):
                    yield fix


def _list_tables(text: SourceText, call: ast.Call) -> list[ast.Name]:
    """Return the targets, where they are set, of the names of which a model gets rows:
    `X` of `model(X[i:j])`, or of the data set of the loader around the call.
    """
    scope = text.around(call, *FUNCTIONS) or text.tree
    if scope is None:
        return []
    names = {*collect_names(call.args[0])}
    for loop in ast.walk(scope):
        if isinstance(loop, ast.For) and names & {*collect_names(loop.target)}:
            names |= {*collect_names(loop.iter)}
    for _ in range(2):  # a loader, and its data set
        for target, value in iter_assignments(scope):
            if not isinstance(target, ast.Name) or target.id not in names:
                continue
            called = get_called_name(value) if value is not None else ""
            if called in OF_ROWS and isinstance(value, ast.Call) and value.args:
                names |= {*collect_names(value.args[0])}
    first: dict[str, ast.Name] = {}
    for node in ast.walk(scope):
        is_set = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.Name) and is_set and node.id in names:
            first.setdefault(node.id, node)
    return [*first.values()]


OF_ROWS = frozenset({"DataLoader", "TensorDataset"})


def _is_behind(text: SourceText, fix: Fix, table: ast.Name) -> bool:
    """Return whether a fix edits the function in which a table is set, below it."""
    (edit,) = fix.edits
    if edit.span.file != text.file or edit.span.line <= table.lineno:
        return False
    node = text.node(edit.span)
    inner = text.around(node, *FUNCTIONS) if node is not None else None
    return node is not None and inner is text.around(table, *FUNCTIONS)


def _has_name(text: SourceText, fix: Fix) -> bool:
    """Return whether a fix replaces what reads a name: a number is written as one."""
    node = text.node(fix.edits[0].span)
    return node is not None and bool(collect_names(node))


def suggest_first_fit(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `encoder.transform(test)` for a second `encoder.fit_transform(...)`,
    behind which the number of classes or columns is that of the test set.
    """
    if failure.unmet is None or failure.unmet.code not in OF_TABLES:
        return
    for text in program.own_texts():
        fitted: dict[str, ast.Call] = {}
        for call in text.nodes:
            if get_called_name(call) != "fit_transform":
                continue
            assert isinstance(call, ast.Call)
            receiver = get_receiver(call)
            owner = text.written(receiver) if receiver is not None else ""
            if owner and owner in fitted and isinstance(call.func, ast.Attribute):
                span = text.owner_span(call.func).end.until(text.span(call.func))
                shown = f"`{owner}.transform` for the second `{owner}.fit_transform`"
                yield Fix("fits", shown, (Edit(span, ".transform"),))
            elif owner:
                fitted[owner] = call
