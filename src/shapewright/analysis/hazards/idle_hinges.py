"""Find hinges that are zero whatever a model gives: `relu(cosine - 1)`,
`relu(-distance)`.

The margin is one of another measure, such as of a distance where a similarity is taken.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    find_base,
    is_trained,
    iter_losses,
)
from shapewright.analysis.hazards.value_ranges import Range, find_range
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import TERM_WITHOUT_GRAPH
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_own_attribute

RAMPS = frozenset({"relu", "relu_"})
LIMITS = operators_with("clamps") | {"clamp_min", "clamp_max"}
LARGER = frozenset({"maximum", "max"})
LARGEST_COSINE = 1


def find_idle_hinges(scene: HazardContext) -> Iterator[Finding]:
    """Find terms of a loss that a limit keeps at one number."""
    losses = {loss.tensor for loss in iter_losses(scene)}
    seen: set[object] = {None}
    for call in scene.calls if losses else ():
        if call.op.span in seen or not call.op.outputs[0].requires_grad:
            continue
        idle = _find_idle(scene, call)
        if idle is None or not is_trained(scene, call.op.outputs[0], losses):
            continue
        limit, limits, at = idle
        seen.add(call.op.span)
        words = scene.words(call.op)[at]
        source = limits.source
        message = (
            f"{words} is {_describe(limits)} whatever the model gives, so"
            f" {scene.operation(call.op)} makes all of it {limit:g}: the term trains"
            " nothing"
        )
        where = "this has limits, which the margin is beyond"
        place = source.op if source is not None else None
        finding = scene.finding(TERM_WITHOUT_GRAPH, call.op, message, (place, where))
        yield replace(finding, related=(*finding.related, *_list_built(scene, call)))
    yield from _find_wide_margins(scene, losses)


def _find_idle(
    scene: HazardContext, call: OperatorCall
) -> tuple[float, Range, int] | None:
    """Return the number that a limit makes of all elements, their range before it, and
    which operand they are, or None.
    """
    inputs = call.op.inputs
    lowest, highest = -inf, inf
    at = 0
    if call.name in RAMPS and inputs:
        lowest = 0.0
    elif call.name in LIMITS and len(inputs) == 1:
        first = "max" if call.name == "clamp_max" else "min"
        limits = {first: call.given(1, first), "max": call.given(2, "max")}
        if call.name == "clamp_max":
            limits["max"] = call.given(1, "max")
        lowest = _get_limit(limits.get("min"), -inf)
        highest = _get_limit(limits.get("max"), inf)
    elif call.name in LARGER and len(inputs) == 2:
        ranges = [find_range(scene, fact) for fact in inputs]
        constant = next((r for r in ranges if r.low == r.high), None)
        if constant is None:
            return None
        at, lowest = 1 - ranges.index(constant), constant.low
    else:
        return None
    if not inputs[at].requires_grad:
        return None
    limits_of = find_range(scene, inputs[at])
    if limits_of.source is None:
        return None
    if limits_of.high <= lowest:
        return lowest, limits_of, at
    return (highest, limits_of, at) if limits_of.low >= highest else None


def _list_built(scene: HazardContext, call: OperatorCall) -> list[Related]:
    """Return the places where the object is built that has the margin."""
    place = scene.program.node(call.op.span)
    margin, owner = find_margin_class(*place) if place is not None else ("", None)
    if owner is None:
        return []
    words = f"`{owner.name}` gets its `{margin}` here"
    built = iter_constructions(scene.program, owner)
    return [Related(text.span(node), words) for text, node in built]


def find_margin_class(
    text: SourceText, node: ast.AST
) -> tuple[str, ast.ClassDef | None]:
    """Return the attribute that a hinge compares something with, and its class."""
    owner = text.around(node, ast.ClassDef)
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub | ast.Add):
            names = [get_own_attribute(side) for side in (part.right, part.left)]
            margin = next((name for name in names if "margin" in name), "")
            if margin:
                return margin, owner
    return "", None


def iter_constructions(
    program: Program, owner: ast.ClassDef
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls of a class."""
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) == owner.name:
                yield text, node


def _get_limit(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def _describe(limits: Range) -> str:
    """Return a range in words."""
    if limits.low == -inf:
        return f"at most {limits.high:g}"
    if limits.high == inf:
        return f"at least {limits.low:g}"
    return f"between {limits.low:g} and {limits.high:g}"


def _find_wide_margins(scene: HazardContext, losses: set[int]) -> Iterator[Finding]:
    """Find `cosine_embedding_loss` with a margin that no cosine is above."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name != "cosine_embedding_loss" or call.op.span in seen:
            continue
        margin = call.given(3, "margin", default=0.0)
        is_wide = isinstance(margin, int | float) and margin >= LARGEST_COSINE
        if not is_wide or not is_trained(scene, call.op.outputs[0], losses):
            continue
        target = find_base(scene, call.op.inputs[-1])
        maker = scene.maker(target)
        if maker is not None and maker.name in ("ones", "ones_like"):
            continue  # all pairs are alike
        seen.add(call.op.span)
        message = (
            f"the loss of a pair with target -1 is `relu(cosine - {margin:g})`, and no"
            " cosine is above 1: pairs that differ train nothing with this margin"
        )
        yield scene.finding(TERM_WITHOUT_GRAPH, call.op, message)
