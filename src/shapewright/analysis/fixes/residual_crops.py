"""Residuals of causal stacks: `x[..., -z.size(-1):] + z`, where convolutions without
padding leave out the first steps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import BROADCAST_MISMATCH
from shapewright.findings.finding import Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Fact

CONVOLUTIONS = operators_with("is_convolution")
DEEP = 40


def suggest_last_steps(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the last steps of a residual that is longer than what it is added to by
    what convolutions with an even kernel cut, which have no step in their middle.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    place = program.node(op.span)
    if unmet is None or unmet.code != BROADCAST_MISMATCH or place is None:
        return
    text, node = place
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    if not is_sum or len(op.inputs) != 2:
        return
    expressions = find_tensor_expressions(program, op)
    for at in range(2):
        whole, part = op.inputs[at], op.inputs[1 - at]
        first, second = expressions[at], expressions[1 - at]
        if first is None or second is None or not isinstance(first[0], ast.Name):
            continue
        if len(whole.shape) != 3 or whole.shape[:2] != part.shape[:2]:
            continue
        cut = _count_cut_steps(program, part, whole)
        name = _find_name(program, text, second[0], part)
        if name and cut > 0 and whole.shape[2] - part.shape[2] == cut:
            yield append_method(text, first[0], f"[..., -{name}.size(-1):]")


def _count_cut_steps(program: Program, part: Fact, whole: Fact) -> int:
    """Return how many steps convolutions cut between a tensor and what it was made of;
    0 where that is unknown, or where one of them has a step in its middle.
    """
    total, fact = 0, part
    for _ in range(DEEP):
        if fact.tensor == whole.tensor:
            return total
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs or len(maker.inputs[0].shape) != 3:
            return 0
        before = maker.inputs[0]
        cut = before.shape[2] - fact.shape[2] if len(fact.shape) == 3 else -1
        is_convolution = maker.name.rpartition(".")[2] in CONVOLUTIONS
        if cut and (not is_convolution or cut < 0 or maker.inputs[1].shape[2] % 2):
            return 0
        total, fact = total + cut, before
    return 0


def _find_name(program: Program, text: SourceText, node: ast.expr, part: Fact) -> str:
    """Return a name that is as long as the shorter operand: its own, or that of what a
    layer was given for it.
    """
    if isinstance(node, ast.Name):
        return node.id
    maker = program.producers.get(part.tensor)
    is_call = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    if maker is None or not maker.inputs or not is_call:
        return ""
    argument = node.args[0] if isinstance(node, ast.Call) else node
    is_as_long = maker.inputs[0].shape[2:] == part.shape[2:] and maker.span is not None
    is_own = maker.span == text.span(node)
    return (
        argument.id if isinstance(argument, ast.Name) and is_as_long and is_own else ""
    )
