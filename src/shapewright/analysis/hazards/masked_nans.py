"""Find losses of targets with NaN that a mask of zeros is to leave out: 0 times NaN is
NaN.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import ALL_LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import PRODUCTS, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import NAN_IN_DATA
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

CASTS = frozenset({"to", "float", "type"})
INVERTING = frozenset({"~", "logical_not"})
WEIGHTING = PRODUCTS | {"*=", "mul_"}
ELEMENTWISE = ALL_LOSSES | operators_with("is_arithmetic", "keeps_shape") | {"**", "-"}
"""Calls between targets and the errors that a mask is multiplied with."""
REPLACING = operators_with("replaces_odd_values") - operators_with("is_arithmetic")
FARTHEST = 8


def find_masked_nans(scene: HazardContext) -> Iterator[Finding]:
    """Find `(pred - y) ** 2 * ~torch.isnan(y)`."""
    seen: set[object] = set()
    for call in scene.calls:
        inputs = call.op.inputs
        if call.name not in WEIGHTING or len(inputs) != 2 or call.op.span in seen:
            continue
        for at in (0, 1):
            targets = _find_tested(scene, inputs[at])
            errors = inputs[1 - at]
            if targets is None or not errors.requires_grad or errors.ndim == 0:
                continue
            reader = _find_reader(scene, errors, targets)
            if reader is None or call.op.span is None:
                continue
            if _is_replaced(scene, targets) or _is_replaced(scene, call.op.outputs[0]):
                continue
            seen.add(call.op.span)
            name = scene.words(reader.op)[_get_place(reader, targets)]
            yield scene.finding(
                NAN_IN_DATA,
                reader.op,
                f"{name} is NaN where the mask is 0, and 0 times NaN is NaN: the loss"
                " becomes NaN, and with it all weights",
                (call.op, "the mask is multiplied here"),
            )


def _get_place(call: OperatorCall, fact: Fact) -> int:
    """Return where a tensor stands among those of a call."""
    return [part.tensor for part in call.op.inputs].index(fact.tensor)


def _find_tested(scene: HazardContext, mask: Fact) -> Fact | None:
    """Return the tensor of which a mask is true where it is not NaN, or None."""
    is_inverted = False
    for _ in range(FARTHEST):
        maker = scene.maker(find_base(scene, mask, CASTS))
        if maker is None or not maker.op.inputs:
            return None
        first = maker.op.inputs[0]
        if maker.name in INVERTING or maker.op.function.endswith("__rsub__"):
            is_inverted, mask = not is_inverted, first
            continue
        is_truth = maker.name in ("isfinite", "==", "eq")
        if maker.name in ("==", "eq", "!=", "ne"):
            second = maker.op.inputs[-1]
            is_same = len(maker.op.inputs) == 2 and first.tensor == second.tensor
        else:
            is_same = maker.name in ("isnan", "isfinite")
        return first if is_same and is_truth != is_inverted else None
    return None


def _find_reader(
    scene: HazardContext, errors: Fact, targets: Fact
) -> OperatorCall | None:
    """Return the call that computes errors of targets as they are, or None."""
    waiting = [errors]
    for _ in range(FARTHEST):
        maker = scene.maker(waiting.pop(0)) if waiting else None
        if maker is None:
            if not waiting:
                return None
            continue
        if maker.name not in ELEMENTWISE or maker.name in REPLACING:
            continue
        if any(part.tensor == targets.tensor for part in maker.op.inputs):
            return maker
        waiting += maker.op.inputs
    return None


def _is_replaced(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a call puts other values in the place of NaN, or leaves NaN out
    of a sum.
    """
    for user in scene.users.get(fact.tensor, ()):
        is_written = user.op.kind == "inplace" and len(user.op.inputs) > 1
        if user.name.startswith("nan") or (
            is_written
            and user.op.inputs[0].tensor == fact.tensor
            and any(part.dtype == "bool" for part in user.op.inputs[1:])
            and user.given(2) == 0
        ):
            return True
    return False
