"""Steps of slices that take too many points: `data[:, ::sub]` with `sub = 1`, where a
grid of an eighth of the points is meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ELEMENT_COUNT_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining

STEPS = 8
"""Calls between a slice and what is reshaped."""


def suggest_slice_step(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the step of a slice with which the elements fit a shape."""
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != ELEMENT_COUNT_MISMATCH or not op.inputs:
        return
    has, needs = unmet.has, unmet.needs
    if not isinstance(has, int) or not isinstance(needs, int) or not needs:
        return
    if has % needs or has == needs:
        return
    for maker in iter_first_makers(program, op.inputs[0], STEPS):
        place = program.node(maker.span)
        steps = _list_steps(place[1]) if place is not None else []
        if place is None or len(steps) != 1:
            continue
        fix = _change_step(place[0], steps[0], has // needs)
        if fix is not None:
            yield fix
        return


def _list_steps(node: ast.AST) -> list[ast.expr]:
    """Return the steps of the slices that an expression takes."""
    if not isinstance(node, ast.Subscript):
        return []
    index = node.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return [part.step for part in parts if isinstance(part, ast.Slice) and part.step]


def _change_step(text: SourceText, step: ast.expr, ratio: int) -> Fix | None:
    """Return the edit that makes a step so many times as large, where it is written."""
    value, shown = step, ""
    if isinstance(step, ast.Name):
        defined = find_defining(text, step.id)
        if len(defined) != 1:
            return None
        value, shown = defined[0], f"{step.id} = "
    known = evaluate_whole_number(value)
    if known is None:
        return None
    new = str(known * ratio)
    return Fix("fits", f"`{shown}{new}`", (Edit(text.span(value), new),))
