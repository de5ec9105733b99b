"""Labels of a contrastive loss over two views of each sample."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import TARGET_SHAPE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import get_called_name


def suggest_labels_of_views(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.cat([torch.arange(n) + n, torch.arange(n)])` for the labels of the
    first of two views, where the scores have the rows of both.
    """
    place = _find_labels(program, failure)
    if place is None:
        return
    text, value, call = place
    count = call.args[0]
    second = text.written(call)
    size = text.written(count)
    if not isinstance(count, ast.Name | ast.Attribute | ast.Call | ast.Constant):
        size = f"({size})"
    new = f"torch.cat([{second} + {size}, {second}])"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))


def describe_labels_of_views(program: Program, failure: Failure) -> Related | None:
    """Return where labels are made for the first of two views only."""
    place = _find_labels(program, failure)
    if place is None:
        return None
    text, value, _ = place
    words = "labels of the first half of the rows, one of two views, are made here"
    return Related(text.span(value), words)


def _find_labels(
    program: Program, failure: Failure
) -> tuple[SourceText, ast.expr, ast.Call] | None:
    """Return the expression of the labels, and the call of `arange` in it."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return None
    scores, target = (fact.shape for fact in op.inputs[:2])
    if len(scores) != 2 or scores[0] != scores[1] or target != (scores[0] // 2,):
        return None
    text_and_node = program.node(op.span)
    expression = find_tensor_expressions(program, op)[1]
    if text_and_node is None or expression is None:
        return None
    text = text_and_node[0]
    for value in (expression[0], *find_defining(text, text.written(expression[0]))):
        for part in ast.walk(value):
            if get_called_name(part) == "arange" and isinstance(part, ast.Call):
                return (text, value, part) if len(part.args) == 1 else None
    return None
