"""Find policy losses that also train the critic, or that make the policy less random.

A policy loss is a product of the logarithm of a probability and an advantage. What
else is in the same loss tells what was meant: a critic that has a loss of its own, an
entropy of the same distribution.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import LOSSES, HazardContext
from shapewright.analysis.hazards.loss_terms import (
    AVERAGES,
    DIFFERENCES,
    JOINS,
    PRODUCTS,
    QUOTIENTS,
    SUMS,
    Term,
    find_ancestors,
    find_base,
    find_terms,
    get_call_name,
    is_negated,
    iter_losses,
)
from shapewright.analysis.hazards.policy_ratios import find_reversed_ratios
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import (
    ADVANTAGE_WITH_GRAPH,
    MINIMIZED_ENTROPY,
    REVERSED_POLICY,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.record.ops import Fact

LIMITS = operators_with("limits_elements") | AVERAGES
"""Calls between the products of a policy loss and the loss."""
LOGARITHMS = frozenset({"log_softmax", "log", "logsumexp", "logsigmoid"})
NEGATED = frozenset(values_of("expects_input")) - {"kl_div"}
"""Losses of which each element is the negative logarithm of a probability."""
MONOTONE = operators_with("clamps") | JOINS | {"exp", "sum", "[]", "gather"}
"""Calls that grow with their input."""
WEIGHTING = operators_with("clamps") | {"exp", "softmax"}
"""What makes weights of advantages."""
INNER_PRODUCTS = operators_with("is_product") | {"einsum", "@"}
SQUARES = frozenset({"pow", "**", "square"})
MOST = 600
"""Calls of a return or an advantage that a loop has computed step by step."""
FARTHEST = 24


@dataclass(frozen=True, slots=True)
class _PolicyTerm:
    """A product of the logarithm of a probability and an advantage in a loss."""

    product: OperatorCall
    log_probability: Fact
    advantage: Fact
    factor: float


def _find_policy_terms(scene: HazardContext, terms: list[Term]) -> list[_PolicyTerm]:
    """Return the products of logarithms of probabilities and advantages in a loss."""
    products: list[_PolicyTerm] = []
    waiting = list(terms)
    for _ in range(FARTHEST):
        if not waiting:
            break
        term = waiting.pop()
        call = scene.maker(term.fact)
        if call is None:
            continue
        if call.name in LIMITS:
            inside = [f for f in call.op.inputs if f.requires_grad]
            waiting += [
                Term(term.factor * part.factor, part.fact)
                for fact in inside
                for part in find_terms(scene, fact)
            ]
        elif _is_product(call):
            products += _read_product(scene, call, term.factor)
    return products


def _is_product(call: OperatorCall) -> bool:
    """Return whether a call multiplies two tensors, or adds up their products."""
    if len(call.op.inputs) != 2:
        return False
    rows = call.name in INNER_PRODUCTS and not call.shape
    return call.name in PRODUCTS or (rows and call.op.inputs[0].ndim == 1)


def _read_product(
    scene: HazardContext, call: OperatorCall, factor: float
) -> Iterator[_PolicyTerm]:
    """Yield the policy term that a product is, if it is one."""
    for fact, other in (call.op.inputs, call.op.inputs[::-1]):
        sign = _find_sign(scene, fact) if fact.requires_grad else 0
        if sign and _find_sign(scene, other) == 0:
            yield _PolicyTerm(call, fact, other, factor * sign)
            return


def _find_sign(scene: HazardContext, fact: Fact) -> int:
    """Return 1 for the logarithm of a probability or what grows with it, -1 for its
    negative, 0 for another tensor.
    """
    sign, waiting = 1, [fact]
    for _ in range(FARTHEST):
        if not waiting:
            return 0
        fact = waiting.pop()
        call = scene.maker(find_base(scene, fact))
        if call is None or not fact.requires_grad:
            continue
        if get_call_name(scene, call.op) == "log_prob" or call.name in LOGARITHMS:
            return sign
        if call.name in NEGATED:
            return -sign
        if call.name in DIFFERENCES:
            if len(call.op.inputs) == 1:
                sign = -sign if is_negated(call) else sign
            elif call.op.inputs[1].requires_grad:
                return 0
            waiting.append(call.op.inputs[0])
        elif call.name in MONOTONE and call.op.inputs:
            waiting.append(call.op.inputs[0])
    return 0


# -- advantages ------------------------------------------------------------------------


@looks_for(ADVANTAGE_WITH_GRAPH)
def find_advantages_with_graph(scene: HazardContext) -> Iterator[Finding]:
    """Find advantages that send the gradient of a policy loss to the critic."""
    for loss in iter_losses(scene):
        terms = find_terms(scene, loss)
        for policy in _find_policy_terms(scene, terms):
            if not policy.advantage.requires_grad or policy.product.op.span is None:
                continue
            values = _find_values(scene, policy.advantage)
            sources = {values.tensor} if values is not None else set[int]()
            own = _find_own_loss(scene, terms, sources)
            if own is None:
                own = _find_own_loss(scene, terms, _find_trained(scene, policy))
            if own is None:
                continue
            names = scene.words(policy.product.op)
            at = [f.tensor for f in policy.product.op.inputs].index(
                policy.advantage.tensor
            )
            message = (
                f"{names[at]} still has the graph of the critic: the policy loss"
                " changes the values too, which have a loss of their own"
            )
            yield scene.finding(
                ADVANTAGE_WITH_GRAPH,
                policy.product.op,
                message,
                (own.op, "the critic's own loss"),
            )
            break


def _find_values(scene: HazardContext, advantage: Fact) -> Fact | None:
    """Return the values with a graph that an advantage subtracts from numbers without
    one, perhaps scaled to mean 0 and deviation 1.
    """
    for _ in range(8):
        call = scene.maker(find_base(scene, advantage))
        if call is None or not call.op.inputs:
            return None
        first = call.op.inputs[0]
        two = len(call.op.inputs) == 2
        if call.name in DIFFERENCES and two:
            second = call.op.inputs[1]
            if second.requires_grad and not first.requires_grad and first.shape:
                return find_base(scene, second)
            if not second.shape and first.requires_grad:
                advantage = first
                continue
            return None
        is_weight = call.name in WEIGHTING and not (two and call.op.inputs[1].shape)
        is_scaled = call.name in QUOTIENTS | PRODUCTS
        is_scaled = is_scaled and not (two and call.op.inputs[1].shape)
        if not is_weight and not is_scaled:
            return None
        advantage = first
    return None


def _find_trained(scene: HazardContext, policy: _PolicyTerm) -> set[int]:
    """Return the tensors through which an advantage that was collected step by step
    sends its gradient.
    """
    base = scene.maker(find_base(scene, policy.advantage))
    if base is None or base.name not in JOINS:
        return set()
    trained, waiting = set[int](), list(base.op.inputs)
    while waiting and len(trained) < MOST:
        fact = waiting.pop()
        call = scene.maker(fact)
        if fact.tensor in trained or not fact.requires_grad:
            continue
        trained.add(fact.tensor)
        if call is not None and call.name not in STOPS:
            waiting += call.op.inputs
    return trained


STOPS = operators_with("is_convolution", "gives_logits") | {"embedding"}
"""Layers, behind which values and policy may share what they read."""


def _find_own_loss(
    scene: HazardContext, terms: list[Term], values: Collection[int]
) -> OperatorCall | None:
    """Return the term of a loss that is the squared error of values, or None."""
    for term in terms:
        call = scene.maker(term.fact)
        if call is None:
            continue
        compared = call.op.inputs
        if call.name in SQUARES | PRODUCTS:
            difference = scene.maker(find_base(scene, call.op.inputs[0]))
            same = len({fact.tensor for fact in compared}) == 1
            if difference is None or difference.name not in DIFFERENCES or not same:
                continue
            compared = difference.op.inputs
        elif call.name not in LOSSES:
            continue
        trained = [fact for fact in compared if fact.requires_grad]
        if any(find_base(scene, f).tensor in values for f in trained[:1]):
            return call
    return None


# -- signs -----------------------------------------------------------------------------

REWARDS = re.compile(
    r"rewards?|returns?|adv(antages?)?|discounted\w*|gaes?|(td_)?deltas?|[RG]t?",
    re.IGNORECASE,
)
"""Names of what a policy is to make more of."""


def _is_surrogate(scene: HazardContext, policy: _PolicyTerm) -> bool:
    """Return whether the smaller or larger of two products is taken, which is judged as
    a clipped objective.
    """
    return any(
        user.name in CHOICES and len(user.op.inputs) > 1
        for fact in policy.product.op.outputs
        for user in scene.users.get(fact.tensor, ())
    )


CHOICES = frozenset({"min", "minimum", "max", "maximum"})


@looks_for(REVERSED_POLICY)
def find_reversed_policies(scene: HazardContext) -> Iterator[Finding]:
    """Find policy losses in which probabilities of actions are multiplied by rewards
    and minimized.
    """
    yield from find_reversed_ratios(scene)
    seen = set[object]()
    for loss in iter_losses(scene):
        for policy in _find_policy_terms(scene, find_terms(scene, loss)):
            op = policy.product.op
            if policy.factor <= 0 or op.span is None or op.span in seen:
                continue
            at = [fact.tensor for fact in op.inputs].index(policy.advantage.tensor)
            name = scene.words(op)[at].strip("`")
            if not REWARDS.fullmatch(name.split("[")[0].rpartition(".")[2]):
                continue
            if _is_turned(scene, policy.advantage) or _is_surrogate(scene, policy):
                continue
            seen.add(op.span)
            message = (
                f"the loss adds `{name}` times what grows with an action's probability:"
                " minimizing it makes actions with a high one less likely"
            )
            yield scene.finding(REVERSED_POLICY, op, message)


def _is_turned(scene: HazardContext, advantage: Fact) -> bool:
    """Return whether an advantage has a sign of its own: `-returns`, a cost that is
    subtracted from a baseline.
    """
    ancestors = find_ancestors(scene, advantage, MOST)
    return advantage.requires_grad or any(
        is_negated(call) for call in ancestors.values()
    )


# -- entropies -------------------------------------------------------------------------


@looks_for(MINIMIZED_ENTROPY)
def find_minimized_entropies(scene: HazardContext) -> Iterator[Finding]:
    """Find entropies of a policy that are added to the loss that trains it."""
    for loss in iter_losses(scene):
        terms = find_terms(scene, loss, stops=("entropy",))
        policies = _find_policy_terms(scene, terms)
        policies = [policy for policy in policies if _is_maximized(scene, policy)]
        if not policies:
            continue
        for term in terms:
            factor = term.factor * _find_entropy(scene, term.fact)
            call = scene.maker(term.fact)
            if factor <= 0 or call is None:
                continue
            if not _is_of_same_policy(scene, policies[0], term.fact):
                continue
            added = _find_adding_call(scene, loss, term.fact)
            place = added if added is not None else call
            message = (
                "the entropy of the policy is added to a loss that is minimized: the"
                " policy becomes less random, and a bonus is subtracted"
            )
            yield scene.finding(
                MINIMIZED_ENTROPY,
                place.op,
                message,
                (call.op, "the entropy is made here"),
                (policies[0].product.op, "the policy loss"),
            )


def _is_maximized(scene: HazardContext, policy: _PolicyTerm) -> bool:
    """Return whether minimizing the loss maximizes probability times advantage."""
    factor = policy.factor
    maker = scene.maker(find_base(scene, policy.advantage))
    if maker is not None and maker.name in DIFFERENCES and len(maker.op.inputs) == 1:
        factor = -factor if is_negated(maker) else factor
    return factor < 0 and not policy.advantage.requires_grad


def _find_entropy(scene: HazardContext, fact: Fact) -> int:
    """Return 1 for the entropy of a distribution, -1 for its negative, 0 for another
    tensor.
    """
    call = scene.maker(fact)
    if call is None or not fact.requires_grad:
        return 0
    if get_call_name(scene, call.op) == "entropy":
        return 1
    if call.name not in PRODUCTS | {"einsum"} or len(call.op.inputs) != 2:
        return 0
    if not all(f.requires_grad for f in call.op.inputs):
        return 0  # of the labels' distribution and the predicted one: a cross entropy
    makers = [scene.maker(find_base(scene, f, ("clamp",))) for f in call.op.inputs]
    names = {maker.name for maker in makers if maker is not None}
    for maker, other in zip(makers, call.op.inputs[::-1], strict=True):
        if maker is not None and maker.name == "exp":
            log = maker.op.inputs[0].tensor
            names |= {"softmax"} if log == other.tensor else set()
    return -1 if "softmax" in names and names & {"log_softmax", "log"} else 0


def _is_of_same_policy(
    scene: HazardContext, policy: _PolicyTerm, entropy: Fact
) -> bool:
    """Return whether an entropy follows from the outputs that give the probability."""
    ancestors = find_ancestors(scene, policy.log_probability)
    own = {
        tensor for tensor, call in ancestors.items() if call.op.outputs[0].requires_grad
    }
    return bool(own & set(find_ancestors(scene, entropy)))


def _find_adding_call(
    scene: HazardContext, loss: Fact, term: Fact
) -> OperatorCall | None:
    """Return the sum that adds a term to a loss, or None."""
    ancestors = find_ancestors(scene, loss)
    for call in ancestors.values():
        if call.name in SUMS | DIFFERENCES and len(call.op.inputs) == 2:
            for fact in call.op.inputs[1:]:
                if any(
                    part.fact.tensor == term.tensor
                    for part in find_terms(scene, fact, stops=("entropy",))
                ):
                    return call
    return None
