"""Find probabilities of which a sigmoid or a softmax is taken once more."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.value_makers import ACTIVATIONS, FARTHEST, PASSING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_softmax_dim
from shapewright.findings.codes import LOSS_INPUT
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

KEEPING = PASSING - operators_with("joins_tensors") - {"dropout", "pad"}
"""Calls after which all elements are those of one tensor."""


def find_repeated_activations(
    scene: HazardContext, reported: set[int]
) -> Iterator[Finding]:
    """Find activations of probabilities in what is trained, but for calls, by their
    index, of which a loss is told already.
    """
    seen: set[object] = {None}
    for call in scene.calls:
        if not _is_activation(call) or call.op.span in seen:
            continue
        if not call.op.inputs[0].requires_grad or call.op.index in reported:
            continue
        inner = _find_activation(scene, call.op.inputs[0])
        if inner is None or not _is_same_kind(inner, call):
            continue
        seen.add(call.op.span)
        name = scene.names(call.op)[0].rsplit(" (", 1)[0]
        line = f" at line {inner.op.span.line}" if inner.op.span is not None else ""
        effect = "they lie between 0.5 and 0.73"
        if "softmax" in call.name:
            effect = "no class is much more likely than another"
        yield scene.finding(
            LOSS_INPUT,
            call.op,
            f"{scene.operation(call.op)} of {name}, which are probabilities already, of"
            f" `{inner.name}`{line}: after a second activation {effect}",
            (inner.op, "probabilities are made here"),
        )


def _is_activation(call: OperatorCall) -> bool:
    """Return whether a call makes probabilities, or their logarithms, of scores."""
    kind = ACTIVATIONS.get(call.name, "")
    return kind.endswith("probabilities") and len(call.op.inputs) == 1


def _find_activation(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call that made the probabilities of which a tensor is a view or a
    part, or None.
    """
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if ACTIVATIONS.get(maker.name) == "probabilities":
            return maker
        if maker.name not in KEEPING:
            return None
        fact = maker.op.inputs[0]
    return None


def _is_same_kind(inner: OperatorCall, outer: OperatorCall) -> bool:
    """Return whether two activations decide the same: none is a softmax of gates, or
    along another dim.
    """
    if "softmax" not in outer.name:
        return True
    if "softmax" not in inner.name:
        return False
    dims = find_softmax_dim(inner), find_softmax_dim(outer)
    shapes = inner.op.outputs[0].shape, outer.op.inputs[0].shape
    if None in dims or (shapes[0] == shapes[1] and dims[0] != dims[1]):
        return False
    return shapes[0][dims[0] or 0] == shapes[1][dims[1] or 0]
