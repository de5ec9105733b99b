"""Offsets that count one too many: `offset += len(nodes) + 1` behind indices that go
beyond the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, LOOPS, collect_names


def suggest_smaller_offset(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest an offset that grows by one less, where the indices of a refused call
    were shifted by it.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return
    for maker in iter_makers(program, program.trace.ops[failure.op]):
        place = program.node(maker.span)
        if place is None or not isinstance(place[1], ast.BinOp):
            continue
        text, node = place
        if isinstance(place[1].op, ast.Add):
            yield from _iter_smaller(text, node, collect_names(node, ast.Load))


def _iter_smaller(text: SourceText, node: ast.AST, names: set[str]) -> Iterator[Fix]:
    """Yield the fixes for the offsets of some names that grow in the same function."""
    scope = text.around(node, *FUNCTIONS) or text.tree
    for statement in ast.walk(scope) if scope is not None else ():
        if not isinstance(statement, ast.AugAssign):
            continue
        value, target = statement.value, text.written(statement.target)
        is_growing = isinstance(statement.op, ast.Add) and target in names
        if not is_growing or text.around(statement, *LOOPS) is None:
            continue
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            continue
        if evaluate_whole_number(value.right) == 1:
            new = text.written(value.left)
            edit = Edit(text.span(value), new)
            yield Fix("fits", f"`{target} += {new}`", (edit,))
