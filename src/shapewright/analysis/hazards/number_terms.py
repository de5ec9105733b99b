"""Find terms of a loss that are numbers: `loss = a + weight * b.item()` trains `a`.

A factor that is read is right (a loss scaled by another one), and so is a value that
was read without a graph, or of what another backward pass has trained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    AVERAGES,
    PRODUCTS,
    QUOTIENTS,
    REARRANGING,
    SUMS,
    is_trained,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import TERM_WITHOUT_GRAPH
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name, get_last_name
from shapewright.record.ops import Fact, Op

LEAVING = operators_with("leaves_graph") | REARRANGING
"""Calls between a tensor with a graph and the number that is read."""
FACTORS = ast.Mult | ast.Div
MOST = 64
"""Calls of a loss, and calls after a tensor, that are looked at."""


def find_number_terms(scene: HazardContext) -> Iterator[Finding]:
    """Find numbers that were read off tensors with a graph and added to a loss."""
    reads: dict[object, list[Op]] = {}
    for op in scene.program.trace.ops:
        if op.kind == "read" and op.name.endswith("item") and op.span is not None:
            reads.setdefault(op.span, []).append(op)
    seen: set[object] = set()
    losses = (
        [loss for loss in iter_losses(scene) if loss.requires_grad] if reads else []
    )
    trained = {loss.tensor for loss in losses}
    for loss in losses:
        for call in _iter_sums(scene, loss):
            place = scene.program.node(call.op.span)
            if place is None or call.op.span in seen:
                continue
            seen.add(call.op.span)
            text, node = place
            for read, name in _find_reads(text, node, reads, call.op):
                source = _find_tracked(scene, read.inputs[0])
                if source is None or is_trained(scene, source, trained):
                    continue
                message = (
                    f"a term of the loss has no gradient: `{name}` is a number that"
                    " `.item()` read, so the term trains nothing"
                )
                words = "the graph ends here: add the tensor itself"
                yield scene.finding(TERM_WITHOUT_GRAPH, call.op, message, (read, words))


def _iter_sums(scene: HazardContext, loss: Fact) -> Iterator[OperatorCall]:
    """Yield the calls that add a number to a loss or to one of its terms."""
    waiting, seen = [loss], set[int]()
    while waiting and len(seen) < MOST:
        fact = waiting.pop()
        if fact.tensor in seen:
            continue
        seen.add(fact.tensor)
        call = scene.maker(fact)
        later = [
            user
            for user in scene.users.get(fact.tensor, ())
            if user.op.kind == "inplace" and user.name in SUMS
        ]
        for part in [*([call] if call is not None else []), *later]:
            single = len(part.op.inputs) == 1
            if part.name in SUMS:
                if single:
                    yield part
                waiting += part.op.inputs
            elif part.name in AVERAGES | PRODUCTS | QUOTIENTS | REARRANGING and single:
                waiting += part.op.inputs


def _find_reads(
    text: SourceText, node: ast.expr | ast.stmt, reads: dict[object, list[Op]], op: Op
) -> Iterator[tuple[Op, str]]:
    """Yield the reads of the numbers that a sum adds, each with its words."""
    sides: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [node.left, node.right]
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        sides = [node.value]
    for side in sides:
        for factor in _iter_factors(side):
            values = [factor]
            if isinstance(factor, ast.Name | ast.Attribute):
                values = find_defining(text, get_last_name(factor))
            if len(values) != 1 or get_called_name(values[0]) != "item":
                continue
            earlier = [
                read
                for read in reads.get(text.span(values[0]), ())
                if read.index < op.index
            ]
            if earlier:
                yield earlier[-1], text.line_of(factor)


def _iter_factors(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the factors of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, FACTORS):
        yield from _iter_factors(node.left)
        if isinstance(node.op, ast.Mult):
            yield from _iter_factors(node.right)
    else:
        yield node


def _find_tracked(scene: HazardContext, fact: Fact) -> Fact | None:
    """Return the tensor with a graph off which a number was read, or None."""
    for _ in range(MOST):
        if fact.requires_grad:
            return fact
        call = scene.maker(fact)
        if call is None or call.name not in LEAVING or len(call.op.inputs) != 1:
            return None
        fact = call.op.inputs[0]
    return None
