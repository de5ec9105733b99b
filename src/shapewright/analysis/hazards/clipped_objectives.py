"""Find clipped policy objectives that take the better of their two surrogates.

The bound of PPO is pessimistic: of `ratio * advantage` and the same with a clipped
ratio it maximizes the smaller one. Where both are negated to be minimized, that is the
larger one. The other choice undoes the clipping where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    DIFFERENCES,
    JOINS,
    PRODUCTS,
    QUOTIENTS,
    find_base,
    find_terms,
    is_negated,
    iter_losses,
)
from shapewright.analysis.hazards.policy_ratios import find_limits_of_ratios
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import OPTIMISTIC_BOUND, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

CLAMPS = operators_with("clamps")
SMALLER = frozenset({"min", "minimum"})
LARGER = frozenset({"max", "maximum"})
FARTHEST = 24
"""Calls between a surrogate and its factors, or a loss and its surrogates."""


@dataclass(frozen=True, slots=True)
class _Product:
    """The sign of a product, as far as it is written, and its factors."""

    sign: int
    factors: tuple[Fact, ...]


@looks_for(OPTIMISTIC_BOUND)
def find_optimistic_bounds(scene: HazardContext) -> Iterator[Finding]:
    """Find the smaller of negated surrogates, and the larger of others."""
    yield from find_limits_of_ratios(scene)
    if any("maximize=True" in text.text for text in scene.program.own_texts()):
        return
    seen: set[object] = set()
    for loss in iter_losses(scene):
        for factor, choice in _find_choices(scene, loss):
            sign = _find_sign_of_surrogates(scene, choice)
            is_smaller = choice.name in SMALLER
            if not sign or is_smaller is (factor < 0) or choice.op.span in seen:
                continue
            seen.add(choice.op.span)
            yield scene.finding(OPTIMISTIC_BOUND, choice.op, _explain(is_smaller, sign))


def _explain(is_smaller: bool, sign: int) -> str:
    """Return the message for a choice that undoes the clipping."""
    if is_smaller and sign < 0:
        return (
            "the smaller of two negated surrogates is minimized, which is the better"
            " one: the clipped ratio limits nothing where the policy gains, and the"
            " larger one is the bound of PPO"
        )
    if is_smaller:
        return (
            "the smaller of two surrogates is minimized: of `ratio * advantage` a"
            " policy loss has the negative, `-torch.min(...)`"
        )
    return (
        "the larger of two surrogates is maximized, which is the better one: the"
        " clipped ratio limits nothing where the policy gains, and the smaller one is"
        " the bound of PPO"
    )


def _find_choices(
    scene: HazardContext, loss: Fact
) -> Iterator[tuple[float, OperatorCall]]:
    """Yield the smaller or larger elements of two tensors in a loss, each with a factor
    that has its sign; weights and masks count as positive.
    """
    waiting = find_terms(scene, loss)
    for _ in range(FARTHEST):
        if not waiting:
            return
        term = waiting.pop(0)
        call = scene.maker(term.fact)
        if call is None or not call.op.inputs:
            continue
        if call.name in SMALLER | LARGER:
            yield term.factor, call
        elif call.name in PRODUCTS | QUOTIENTS and len(call.op.inputs) == 2:
            trained = [f for f in call.op.inputs if f.requires_grad]
            parts = find_terms(scene, trained[0]) if len(trained) == 1 else []
            waiting += [
                type(term)(term.factor * part.factor, part.fact) for part in parts
            ]


def _find_sign_of_surrogates(scene: HazardContext, choice: OperatorCall) -> int:
    """Return the common sign of a ratio and of its clipped values times advantages,
    or 0 where a call chooses among other tensors.
    """
    facts = choice.op.inputs
    if len(facts) == 1:  # `torch.stack([a, b]).min(0)`
        joined = scene.maker(facts[0])
        is_first = choice.given(1, "dim") == 0
        if joined is None or joined.name not in JOINS or not is_first:
            return 0
        facts = joined.op.inputs
    if len(facts) != 2:
        return 0
    products = [_split_product(scene, fact) for fact in facts]
    if products[0].sign != products[1].sign:
        return 0
    if any(len(product.factors) != 2 for product in products):
        return 0
    for plain, clipped in (products, products[::-1]):
        ratios = {fact.tensor for fact in plain.factors if fact.requires_grad}
        for fact in clipped.factors:
            clamp = scene.maker(fact)
            if clamp is None or clamp.name not in CLAMPS or not clamp.op.inputs:
                continue
            if find_base(scene, clamp.op.inputs[0]).tensor in ratios:
                return plain.sign
    return 0


def _split_product(scene: HazardContext, fact: Fact) -> _Product:
    """Return the sign of a product and the tensors that it multiplies."""
    sign, factors, waiting = 1, list[Fact](), [fact]
    for _ in range(FARTHEST):
        if not waiting:
            break
        fact = find_base(scene, waiting.pop())
        call = scene.maker(fact)
        number = call.given(1, "other", default=call.given(0)) if call else None
        single = call is not None and len(call.op.inputs) == 1
        if call is not None and call.name in PRODUCTS and len(call.op.inputs) == 2:
            waiting += call.op.inputs
        elif call is not None and single and _is_minus(call):
            sign = -sign
            waiting += call.op.inputs
        elif call is not None and single and call.name in PRODUCTS:
            sign = -sign if isinstance(number, int | float) and number < 0 else sign
            waiting += call.op.inputs
        else:
            factors.append(fact)
    return _Product(sign, tuple(factors))


def _is_minus(call: OperatorCall) -> bool:
    """Return whether a call only changes the sign of its tensor: `-x`, not `1 - x`."""
    has_number = any(isinstance(v, int | float) and v for _, v in call.op.arguments)
    return call.name in DIFFERENCES and is_negated(call) and not has_number
