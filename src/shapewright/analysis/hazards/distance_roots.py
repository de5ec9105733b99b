"""Find roots of squared distances that are 0 for a sample and itself.

The derivative of a root at 0 is infinite. Times the 0 that comes from a mask, from
the maximum that another pair is, or from `clamp`, it is NaN: after one step all weights
are.
`torch.cdist` and `torch.linalg.norm` take 0 for the derivative there.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import find_base
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import ROOT_OF_ZERO, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

ROOTS = frozenset({"sqrt", "sqrt_"})
POWERS = frozenset({"pow", "**"})
PRODUCTS = operators_with("is_product") | {"einsum"}
SUBTRACTING = operators_with("subtracts") | {"-", "sub"}
LIMITS = operators_with("limits_from_below")
PASSING = (
    operators_with("is_view", "copies_if_needed", "keeps_elements", "is_arithmetic")
    | LIMITS
    | POWERS
    | {"sum", "square", "neg"}
)
PLAIN = (None, ":", "...")
"""Items of an index that keep all elements."""
FARTHEST = 12
"""Calls between the root and the pairs."""


@looks_for(ROOT_OF_ZERO)
def find_roots_of_zero(scene: HazardContext) -> Iterator[Finding]:
    """Find roots, of which gradients are asked, of distances within one batch."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.op.span is None or call.op.span in seen or not call.op.inputs:
            continue
        if call.name not in ROOTS and not (
            call.name in POWERS and call.given(1) == 0.5
        ):
            continue
        squares = call.op.inputs[0]
        if not call.op.outputs[0].requires_grad or squares.ndim < 2:
            continue
        if squares.shape[-1] != squares.shape[-2] or squares.shape[-1] < 2:
            continue
        pairs = _find_own_pairs(scene, squares)
        if pairs is None:
            continue
        seen.add(call.op.span)
        size = squares.shape[-1]
        message = (
            f"the distances of {size} samples to themselves are 0, and the derivative"
            " of the root is infinite there: the gradients become NaN"
        )
        where = "each of them is compared with all, itself included, here"
        yield scene.finding(ROOT_OF_ZERO, call.op, message, (pairs, where))


def _find_own_pairs(scene: HazardContext, squares: Fact) -> Op | None:
    """Return the call that pairs the rows of one tensor with each other, or None; also
    where a positive number is added on the way.
    """
    waiting, seen = [squares], {squares.tensor}
    pairs: Op | None = None
    for _ in range(FARTHEST):
        following: list[Fact] = []
        for fact in waiting:
            op = scene.program.producers.get(fact.tensor)
            if op is None:
                continue
            name = op.name.rpartition(".")[2]
            if _is_of_own_rows(scene, op, name):
                pairs = pairs or op
                continue
            if name not in PASSING:
                continue
            if _is_shifted(scene, op, name):
                return None
            new = [fact for fact in op.inputs if fact.tensor not in seen]
            seen.update(fact.tensor for fact in new)
            following += new
        waiting = following
    return pairs


def _is_of_own_rows(scene: HazardContext, op: Op, name: str) -> bool:
    """Return whether a call multiplies or subtracts all pairs of rows of one tensor."""
    if len(op.inputs) != 2 or name not in PRODUCTS | SUBTRACTING:
        return False
    left, right = op.inputs
    if find_rows(scene, left) != find_rows(scene, right):
        return False
    out = op.outputs[0].shape if op.outputs else ()
    if name in PRODUCTS:
        return len(out) > 1 and out[-1] == out[-2]
    is_paired = left.shape != right.shape and left.ndim == right.ndim
    return is_paired and len(out) > 2 and out[-2] == out[-3]


def find_rows(scene: HazardContext, fact: Fact) -> int:
    """Return the number of the tensor that a tensor shows with more dims."""
    for _ in range(FARTHEST):
        fact = find_base(scene, fact)
        call = scene.maker(fact)
        items = get_items(call) if call is not None and call.name == "[]" else None
        if call is None or items is None or any(i not in PLAIN for i in items):
            break
        fact = call.op.inputs[0]
    return fact.tensor


def _is_shifted(scene: HazardContext, op: Op, name: str) -> bool:
    """Return whether a call adds a number, or limits to more than 0."""
    numbers = [
        value for _, value in op.arguments if isinstance(value, float | int) and value
    ]
    numbers = [value for value in numbers if not isinstance(value, bool)]
    if name in LIMITS:
        return any(value > 0 for value in numbers)
    is_sum = name in ("+", "add", "add_", "+=", *SUBTRACTING)
    return is_sum and len(op.inputs) == 1 and bool(numbers)
