"""Find quantile losses whose error has the other sign: quantile q is then 1 - q."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import SUMS, find_base
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import QUANTILES_SWAPPED, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

LARGER = frozenset({"maximum", "max", "where"})
PRODUCTS = frozenset({"*", "mul", "multiply"})

POSITIVE_PARTS = operators_with("clamps") | {"relu", "clamp_min"}
COMPLEMENT = re.compile(r"\b1(\.0*)?\s*-\s*\w")
"""`1 - q`, as it is written."""
SUBTRACTING = operators_with("subtracts")


@looks_for(QUANTILES_SWAPPED)
def find_swapped_quantiles(scene: HazardContext) -> Iterator[Finding]:
    """Find `max(q * e, (q - 1) * e)` where `e` is the prediction minus the target."""
    seen: set[object] = set()
    yield from _find_swapped_slopes(scene)
    yield from _find_swapped_parts(scene)
    yield from _find_swapped_weights(scene)
    for call in scene.calls:
        if call.name not in LARGER or call.op.span is None or call.op.span in seen:
            continue
        sides = [scene.maker(fact) for fact in call.op.inputs[-2:]]
        if len(sides) != 2 or not all(side and side.name in PRODUCTS for side in sides):
            continue
        left, right = (side for side in sides if side is not None)
        error = _get_shared(scene, left, right)
        difference = scene.maker(error) if error is not None else None
        if (
            difference is None
            or difference.name not in SUBTRACTING
            or len(difference.op.inputs) != 2
        ):
            continue
        if not _is_of_prediction(difference):
            continue
        if not _is_pinball(scene, left, right):
            continue
        seen.add(call.op.span)
        message = SWAPPED
        where = "the larger of both products is taken here"
        yield scene.finding(QUANTILES_SWAPPED, difference.op, message, (call.op, where))


SWAPPED = (
    "this error is the prediction minus the target, where a quantile loss takes the"
    " target minus the prediction: the output for quantile q learns quantile 1 - q"
)


def _is_of_prediction(difference: OperatorCall) -> bool:
    """Return whether a difference takes the target from the prediction."""
    if difference.name not in SUBTRACTING or len(difference.op.inputs) != 2:
        return False
    first, second = difference.op.inputs
    if difference.op.function.endswith("rsub"):
        first, second = second, first
    return first.requires_grad and not second.requires_grad


def _find_swapped_slopes(scene: HazardContext) -> Iterator[Finding]:
    """Find `where(e > 0, q, q - 1) * e` of such an error."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PRODUCTS or len(call.op.inputs) != 2:
            continue
        for fact, other in (call.op.inputs, call.op.inputs[::-1]):
            slope, error = scene.maker(fact), scene.maker(other)
            if slope is None or error is None or slope.name != "where":
                continue
            if not _is_of_prediction(error) or error.op.span in seen:
                continue
            condition = scene.maker(slope.op.inputs[0])
            if condition is None or condition.name not in POSITIVE:
                continue
            is_sign = condition.given(1) == 0 and condition.op.inputs[:1] == (other,)
            if is_sign and _has_slopes(scene, slope):
                seen.add(error.op.span)
                where = "it is weighted by its sign here"
                yield scene.finding(
                    QUANTILES_SWAPPED, error.op, SWAPPED, (slope.op, where)
                )


def _find_swapped_parts(scene: HazardContext) -> Iterator[Finding]:
    """Find `q * relu(e) + (1 - q) * relu(-e)` of such an error."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SUMS or len(call.op.inputs) != 2:
            continue
        parts = [_get_weighted_part(scene, fact) for fact in call.op.inputs]
        if None in parts or call.op.span in seen:
            continue
        rest, error = next((part for part in parts if part and part[0]), (None, None))
        weighted = next((part for part in parts if part and not part[0]), None)
        if rest is None or error is None or weighted is None:
            continue
        if _is_of_prediction(weighted[1]) and _is_of_target(error):
            seen.add(call.op.span)
            where = "the part below is weighted by 1 - q here"
            yield scene.finding(
                QUANTILES_SWAPPED, weighted[1].op, SWAPPED, (call.op, where)
            )


def _find_swapped_weights(scene: HazardContext) -> Iterator[Finding]:
    """Find `abs(q - (e < 0))` of such an error: weights of a quantile regression."""
    seen: set[object] = set()
    for call in scene.calls:
        weight = scene.maker(call.op.inputs[0]) if call.name == "abs" else None
        if weight is None or weight.name not in SUBTRACTING or call.op.span in seen:
            continue
        if len(weight.op.inputs) != 2:
            continue
        sign = scene.maker(find_base(scene, weight.op.inputs[1], CASTS))
        if sign is None or sign.name not in ("<", "lt") or sign.given(1) != 0:
            continue
        error = scene.maker(find_base(scene, sign.op.inputs[0], CASTS))
        if error is not None and _is_of_prediction(error):
            seen.add(call.op.span)
            where = "it is weighted by its sign here"
            yield scene.finding(QUANTILES_SWAPPED, error.op, SWAPPED, (call.op, where))


CASTS = frozenset({"float", "to", "detach"})


def _get_weighted_part(
    scene: HazardContext, fact: Fact
) -> tuple[bool, OperatorCall] | None:
    """Return the difference whose positive part is weighted, and whether `1 - q` is its
    weight.
    """
    product = scene.maker(fact)
    while product is not None and product.name in ("mean", "sum"):
        product = scene.maker(product.op.inputs[0])
    if product is None or product.name not in PRODUCTS or product.op.span is None:
        return None
    for factor in product.op.inputs:
        positive = scene.maker(factor)
        if positive is None or positive.name not in POSITIVE_PARTS:
            continue
        least = positive.given(1, "min")
        if positive.name.startswith("clamp") and least not in (0, 0.0):
            continue
        difference = scene.maker(positive.op.inputs[0])
        place = scene.program.node(product.op.span)
        if difference is not None and place is not None:
            written = place[0].line_of(place[1])
            return COMPLEMENT.search(written) is not None, difference
    return None


def _is_of_target(difference: OperatorCall) -> bool:
    """Return whether a difference takes the prediction from the target."""
    if difference.name not in SUBTRACTING or len(difference.op.inputs) != 2:
        return False
    first, second = difference.op.inputs
    if difference.op.function.endswith("rsub"):
        first, second = second, first
    return second.requires_grad and not first.requires_grad


def _has_slopes(scene: HazardContext, slope: OperatorCall) -> bool:
    """Return whether `where` chooses q for what is true, and q - 1 for what is not."""
    tensors = slope.op.inputs[1:]
    if len(tensors) == 2:
        rest = scene.maker(tensors[1])
        base = find_base(scene, tensors[0]).tensor
        return (
            rest is not None
            and rest.name in SUBTRACTING
            and rest.given(1) in (1, 1.0)
            and find_base(scene, rest.op.inputs[0]).tensor == base
        )
    above, below = slope.given(1, "input"), slope.given(2, "other")
    if not isinstance(above, int | float) or not isinstance(below, int | float):
        return False
    return 0 < above < 1 and abs(above - 1 - below) < 1e-6


POSITIVE = frozenset({">", ">=", "gt", "ge"})


def _get_shared(
    scene: HazardContext, left: OperatorCall, right: OperatorCall
) -> Fact | None:
    """Return the tensor that both products have as a factor, or None."""
    others = {fact.tensor for fact in right.op.inputs}
    both = [fact for fact in left.op.inputs if fact.tensor in others]
    return next((fact for fact in both if fact.requires_grad), None)


def _is_pinball(scene: HazardContext, left: OperatorCall, right: OperatorCall) -> bool:
    """Return whether the factors of two products are q and q - 1."""
    numbers = [_get_number(call) for call in (left, right)]
    if None not in numbers:
        first, second = (float(number) for number in numbers if number is not None)
        return 0 < first < 1 and abs(first - 1 - second) < 1e-6
    for call, other in ((left, right), (right, left)):
        for fact in call.op.inputs:
            maker = scene.maker(fact)
            if maker is None or maker.name not in SUBTRACTING:
                continue
            if maker.given(1) in (1, 1.0) and maker.op.inputs:
                base = find_base(scene, maker.op.inputs[0]).tensor
                facts = other.op.inputs
                return any(find_base(scene, item).tensor == base for item in facts)
    return False


def _get_number(call: OperatorCall) -> float | int | None:
    """Return the number that a product has as a factor, or None."""
    numbers = [v for _, v in call.op.arguments if type(v) in (int, float)]
    return numbers[0] if len(numbers) == 1 else None
