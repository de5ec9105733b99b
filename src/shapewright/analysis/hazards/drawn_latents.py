"""Find latent variables that are drawn without a graph: the reconstruction of a VAE
then trains its decoder alone.

A draw is meant to have a graph where the loss holds the divergence of the same
distribution, and a layer reads the draw. The actions of a policy are drawn without one:
the loss asks for their probability.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    find_ancestors,
    find_base,
    get_call_name,
    iter_losses,
)
from shapewright.analysis.hazards.noise_scales import iter_divergences
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import TERM_WITHOUT_GRAPH
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

DRAWS = frozenset({"sample", "normal"})
"""Methods and functions that draw without a graph."""
DISCRETE = operators_with("is_random") - {"normal"}
"""What draws numbers that have no gradient, or another one."""
WIDENED = ("expand", "broadcast_tensors")
STEPS = 3
"""Calls from a deviation back to what a network gave: `exp`, `0.5 *`, `clamp`."""
MOST = 4_000
"""Calls of the graph of a loss that are followed."""


def find_drawn_latents(scene: HazardContext) -> Iterator[Finding]:
    """Find `z = q.sample()` that a layer reads, beside a divergence of `q`."""
    draws = [call for call in scene.calls if _is_draw(scene, call)]
    sources = _list_divergent(scene) if draws else set()
    if not sources:
        return
    before = [
        set(find_ancestors(scene, loss, MOST))
        for loss in iter_losses(scene)
        if loss.requires_grad
    ]
    seen: set[object] = set()
    for call in draws:
        out = call.op.outputs[0]
        is_of_both = sources & _collect_given(scene, call)
        is_used = any(out.tensor in ancestors for ancestors in before)
        if not is_of_both or not is_used or call.op.span in seen:
            continue
        if not _is_read_by_layer(scene, call):
            continue
        seen.add(call.op.span)
        yield scene.finding(
            TERM_WITHOUT_GRAPH,
            call.op,
            f"`{get_call_name(scene, call.op)}` draws without a graph: what is computed"
            " of this draw trains nothing of what gave the distribution, which learns"
            " from its divergence alone",
        )


def _is_draw(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call is the last one of a draw of numbers from a distribution
    that has a graph.
    """
    op = call.op
    if op.span is None or not op.outputs or not op.inputs or call.name in DISCRETE:
        return False
    out = op.outputs[0]
    if not out.dtype.startswith(("float", "bf")):
        return False
    name = get_call_name(scene, op)
    if name not in DRAWS or (name == "normal" and call.name != "normal"):
        return False
    if name == "sample" and out.requires_grad:
        return False
    later = scene.users.get(out.tensor, ())
    is_last = not any(user.op.span == op.span for user in later)
    return is_last and any(part.requires_grad for part in op.inputs)


def _collect_sources(scene: HazardContext, call: OperatorCall) -> set[int]:
    """Return the tensors that a distribution was given, for a draw or a divergence."""
    return {find_base(scene, fact, WIDENED).tensor for fact in call.op.inputs}


def _collect_given(scene: HazardContext, call: OperatorCall) -> set[int]:
    """Return the tensors that a distribution was given, and those that its deviation
    was computed of, as `exp(0.5 * logvar)` is.
    """
    sources = _collect_sources(scene, call)
    for part in call.op.inputs:
        for _ in range(STEPS):
            maker = scene.maker(find_base(scene, part, WIDENED))
            if maker is None or len(maker.op.inputs) != 1:
                break
            part = maker.op.inputs[0]
            sources |= {part.tensor, find_base(scene, part, WIDENED).tensor}
    return sources


def _list_divergent(scene: HazardContext) -> set[int]:
    """Return the tensors with a graph of which a divergence is computed."""
    sources: set[int] = set()
    for call in scene.calls:
        if call.op.outputs[0].requires_grad and (
            get_call_name(scene, call.op) == "kl_divergence"
        ):
            sources |= _collect_sources(scene, call)
    for divergence in iter_divergences(scene):
        sources.add(divergence.log_variance)
    return sources


def _is_read_by_layer(scene: HazardContext, draw: OperatorCall) -> bool:
    """Return whether a layer with weights reads a draw, and no probability is asked
    of it.
    """
    waiting, seen, is_read = [draw.op.outputs[0].tensor], set[int](), False
    while waiting and len(seen) < MOST:
        tensor = waiting.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for user in scene.users.get(tensor, ()):
            if get_call_name(scene, user.op) == "log_prob":
                return False
            out = user.op.outputs[0]
            if out.requires_grad and any(part.is_leaf for part in user.op.inputs[1:]):
                is_read = True
                continue
            waiting += [out.tensor for out in user.op.outputs]
    return is_read
