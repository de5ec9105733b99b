"""Find scores that a mask fills with a number which a softmax still counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.causal_masks import (
    HIDES,
    SUMS,
    find_true_offsets,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import REARRANGING, find_ancestors
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import WEAK_MASK, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names
from shapewright.record.ops import Fact

FILLS = frozenset({"masked_fill", "masked_fill_"})
SMALLEST = -1.0
"""What a fill is above if it cannot be meant to hide: scores lie on both sides of 0."""
PRODUCTS = operators_with("is_product") | {"einsum", "baddbmm"}
SCALING = frozenset({"*", "mul", "/", "div"}) | REARRANGING
"""Calls between the product of queries and keys and its softmax."""
CONSTANTS = values_of("fills_with")
SOFTMAXES = operators_with("normalizes_along_dim") - {"normalize"} | {"logsumexp"}
MULTIPLICATIONS = frozenset({"*", "mul", "mul_", "*="})
KEEPING = operators_with("drops_elements", "keeps_elements") | {"to"}
NEUTRAL = frozenset({"isnan", "isinf", "isfinite"})
"""Masks that hide no place: they mend numbers."""


@looks_for(WEAK_MASK)
def find_weak_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find products of queries and keys that are filled with about zero, and causal
    masks behind their softmax.
    """
    yield from _find_late_masks(scene)
    yield from _find_unread_fills(scene)
    yield from _find_small_terms(scene)
    for call in scene.calls:
        if call.op.span is None or not call.op.inputs:
            continue
        number = _find_fill(scene, call)
        if number is None or not SMALLEST < number < -SMALLEST:
            continue
        scores = _get_scores(scene, call)
        if scores is None or not is_product(scene, scores):
            continue
        mask = call.op.inputs[0 if call.name == "where" else 1]
        if any(
            call.name in NEUTRAL for call in find_ancestors(scene, mask, 4).values()
        ):
            continue
        softmax = _find_softmax(scene, call.op.outputs[0])
        if softmax is None:
            continue
        how = "multiplies" if call.name in MULTIPLICATIONS else "fills"
        message = (
            f"the mask {how} scores with {number:g}, and `{softmax.name}` takes"
            f" {number:g} for a score like others: masked places keep their weight"
        )
        yield scene.finding(
            WEAK_MASK,
            call.op,
            message,
            (softmax.op, "the softmax counts them here"),
        )


def _find_small_terms(scene: HazardContext) -> Iterator[Finding]:
    """Find masks times about zero that are added to scores: `-1e-9` for `-1e9`."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in SUMS or len(call.op.inputs) != 2 or call.op.span in seen:
            continue
        for fact, scores in (call.op.inputs, call.op.inputs[::-1]):
            term = scene.maker(fact)
            if term is None or term.name not in MULTIPLICATIONS or fact.requires_grad:
                continue
            number = term.given(1, "other")
            if not isinstance(number, int | float) or not -TINY < number < 0:
                continue
            softmax = _find_softmax(scene, call.op.outputs[0])
            if softmax is None or not scores.requires_grad:
                continue
            seen.add(call.op.span)
            message = (
                f"the mask adds {number:g} to scores, which changes none of them:"
                f" `{softmax.name}` counts masked places like others"
            )
            where = "the softmax counts them here"
            yield scene.finding(WEAK_MASK, call.op, message, (softmax.op, where))
            break


TINY = 1e-3


def _find_unread_fills(scene: HazardContext) -> Iterator[Finding]:
    """Find scores that are hidden behind their softmax, and read by nothing then."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in FILLS or call.op.kind == "inplace" or not call.op.inputs:
            continue
        number = call.given(2, "value")
        scores, out = call.op.inputs[0].tensor, call.op.outputs[0].tensor
        is_unread = out not in scene.users and out not in scene.read_by_refused
        is_hiding = isinstance(number, int | float) and number <= HIDES
        if not is_hiding or not is_unread or call.op.span in seen:
            continue
        earlier = [
            user
            for user in scene.users.get(scores, ())
            if user.name in SOFTMAXES and user.op.index < call.op.index
        ]
        if earlier and _is_unread(scene, call):
            seen.add(call.op.span)
            message = (
                f"nothing reads what this hides: `{earlier[0].name}` has read the"
                " scores before, as they were"
            )
            where = "the softmax reads them here"
            yield scene.finding(WEAK_MASK, call.op, message, (earlier[0].op, where))


def _is_unread(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a statement gives a name to the result of a call that its function
    reads nowhere below.
    """
    place = scene.program.call_at(call.op.span)
    statement = place[0].parent(place[1]) if place is not None else None
    if place is None or not isinstance(statement, ast.Assign):
        return False
    names = collect_names(statement.targets[0], ast.Store)
    function = place[0].around(statement, *FUNCTIONS)
    return function is not None and not any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id in names
        and node.lineno > statement.lineno
        for node in ast.walk(function)
    )


def _find_late_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find causal masks that set weights to 0 which a softmax has divided already."""
    for call in scene.calls:
        if call.op.span is None or not call.op.inputs:
            continue
        if call.name == "tril" and call.given(1, "diagonal", default=0) == 0:
            softmax = _find_softmax_before(scene, call.op.inputs[0])
            if softmax is not None and _is_only_multiplied(scene, call):
                yield _report_late_mask(scene, call, softmax)
            continue
        if len(call.op.inputs) < 2:
            continue
        weights, mask = _find_zeroed(call)
        if weights is None or mask is None:
            continue
        offsets = find_true_offsets(scene, mask)
        if call.name in MULTIPLICATIONS and offsets is not None:
            offsets = offsets.invert()
        is_causal = offsets is not None and (offsets.side, offsets.last) == (
            "future",
            1,
        )
        is_of_keys = offsets is None and _is_of_keys(scene, weights, mask)
        if not is_causal and not is_of_keys:
            continue
        softmax = _find_softmax_before(scene, weights)
        if softmax is None or not _is_only_multiplied(scene, call):
            continue
        yield _report_late_mask(scene, call, softmax, is_of_keys)


def _is_of_keys(scene: HazardContext, weights: Fact, mask: Fact) -> bool:
    """Return whether a mask is compared of numbers of each sample, and is the same for
    all queries: what it hides is no part of a sample.
    """
    shape = mask.shape
    is_same = len(shape) == weights.ndim > 2 and {*shape[1:-1]} == {1}
    if not is_same or shape[-1] != weights.shape[-1] or mask.requires_grad:
        return False
    of_keys = [
        maker.name
        for maker in find_ancestors(scene, mask, 6).values()
        if maker.shape[-1:] == shape[-1:]
    ]
    return bool(COMPARISONS.intersection(of_keys)) and not DRAWN.intersection(of_keys)


COMPARISONS = frozenset({"<", "lt", ">=", "ge", "!=", "ne", "==", "eq", ">", "gt"})
DRAWN = operators_with("is_random")


def _report_late_mask(
    scene: HazardContext,
    call: OperatorCall,
    softmax: OperatorCall,
    is_of_keys: bool = False,
) -> Finding:
    message = (
        f"the causal mask sets weights to 0 that `{softmax.name}` has divided"
        " already: later keys are still in the sum, so the weights do not sum to"
        " one, and each output depends on later places"
    )
    if is_of_keys:
        message = (
            f"the mask sets weights to 0 that `{softmax.name}` has divided already:"
            " the hidden keys are still in the sum, so the weights do not sum to one"
        )
    where = "the softmax counts them here"
    return scene.finding(WEAK_MASK, call.op, message, (softmax.op, where))


def _find_zeroed(call: OperatorCall) -> tuple[Fact | None, Fact | None]:
    """Return what a call sets to 0 in part, and the mask that says where."""
    first, second = call.op.inputs[:2]
    if call.name in FILLS:
        return (first, second) if call.given(2, "value") == 0 else (None, None)
    if call.name in MULTIPLICATIONS:
        return (first, second) if first.requires_grad else (second, first)
    return None, None


def _find_softmax_before(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the softmax that made weights of scores which no mask hides, or None."""
    softmax = None
    for _ in range(12):
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        if softmax is None and call.name == "softmax":
            softmax = call
        elif softmax is not None and call.name in PRODUCTS:
            return softmax if len(call.op.inputs) >= 2 else None
        elif call.name not in SCALING | {"dropout"} or len(call.op.inputs) > 1:
            return None
        fact = call.op.inputs[0]
    return None


def _is_only_multiplied(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether weights meet values as they are, with no sum to divide them by."""
    fact, is_met = call.op.outputs[0], False
    for _ in range(3):
        users = scene.users.get(fact.tensor, [])
        is_met = is_met or any(user.name in PRODUCTS for user in users)
        onward = [u for u in users if u.name in KEEPING]
        if any(u.name not in PRODUCTS and u not in onward for u in users):
            return False
        if not onward:
            break
        fact = onward[0].op.outputs[0]
    return is_met


def _find_fill(scene: HazardContext, call: OperatorCall) -> float | None:
    """Return the number that a mask writes into scores, or None."""
    if call.name in FILLS:
        value = call.given(2, "value")
    elif call.name in MULTIPLICATIONS and len(call.op.inputs) == 2:
        mask = call.op.inputs[1]
        is_mask = _is_mask(scene, mask) or find_true_offsets(scene, mask) is not None
        return 0.0 if is_mask else None
    elif call.name == "where" and len(call.op.inputs) == 2:
        value = call.given(2, "other", default=call.given(1, "input"))
    elif call.name == "where" and len(call.op.inputs) == 3:
        value = next(
            (number for f in call.op.inputs[1:] if (number := _get_constant(scene, f))
             is not None),
            None,
        )  # fmt: skip
    else:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value > HIDES else None


def _is_mask(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor holds truths, perhaps as the numbers 0 and 1."""
    for _ in range(4):
        if fact.dtype == "bool":
            return True
        maker = scene.maker(fact)
        known = maker is not None and maker.name in REARRANGING
        if maker is None or not known or not maker.op.inputs:
            return False
        fact = maker.op.inputs[0]
    return False


def _get_constant(scene: HazardContext, fact: Fact) -> float | None:
    """Return the number of which all elements of a tensor are, or None."""
    maker = scene.maker(fact)
    if maker is None:
        return None
    value: object = CONSTANTS.get(maker.name)
    if maker.name in ("full", "full_like"):
        value = maker.given(1, "fill_value")
    elif maker.name in ("tensor", "scalar_tensor"):
        value = maker.given(0, "data")
    return float(value) if isinstance(value, int | float) else None


def _get_scores(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the scores of which a mask hides some."""
    if call.name != "where":
        return call.op.inputs[0]
    floats = [f for f in call.op.inputs[1:] if f.dtype.startswith(("float", "bf"))]
    return next((f for f in floats if _get_constant(scene, f) is None), None)


def is_product(scene: HazardContext, fact: Fact) -> bool:
    """Return whether scores are a product of two tensors, or one number of a layer
    for each place, perhaps scaled.
    """
    for _ in range(8):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return False
        if maker.name in PRODUCTS:
            return len(maker.op.inputs) >= 2
        if maker.name == "linear":
            return maker.shape[-1:] == (1,)
        if maker.name in ("+", "add") or maker.name in FILLS or maker.name in SCALING:
            fact = maker.op.inputs[0]
            continue
        return False
    return False


def _find_softmax(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the softmax that filled scores reach unchanged but for a scale.

    Where another mask is applied on the way, that one may hide the places.
    """
    for _ in range(4):
        users = scene.users.get(fact.tensor, [])
        onward = [user for user in users if user.op.outputs]
        for user in onward:
            if user.name in SOFTMAXES:
                return user
        scaled = [user for user in onward if user.name in SCALING]
        if len(onward) != 1 or not scaled or len(scaled[0].op.inputs) > 1:
            return None
        fact = scaled[0].op.outputs[0]
    return None
