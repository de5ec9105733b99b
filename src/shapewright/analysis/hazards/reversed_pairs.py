"""Find losses of pairs that teach the other order: a triplet whose negative is to be
nearer, a pair whose worse item is to have the higher score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    REARRANGING,
    SUMS,
    find_ancestors,
    find_terms,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import REVERSED_MINING
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with

SUBTRACTING = operators_with("subtracts") | {"-", "sub"}
HINGES = operators_with("limits_from_below") | {"softplus"}
SQUARED = operators_with("keeps_zeros", "is_elementwise_loss")
DISTANCES = re.compile(r"(^|_)(norm|cdist|distance)$")
"""Names of calls that measure how far two samples are apart."""
POSITIVE = re.compile(
    r"(^|_)(d|dist|distance|score|sim)?_?(pos|positive|ap|good)(_|s?$)"
)
NEGATIVE = re.compile(
    r"(^|_)(d|dist|distance|score|sim)?_?(neg|negative|an|bad)(_|s?$)"
)
NORMS = operators_with("normalizes_along_dim")
LOG_SHARES = frozenset({"logsigmoid", "log_sigmoid"})
NEAREST = 6


def find_reversed_pairs(scene: HazardContext) -> Iterator[Finding]:
    """Find `relu(d_neg - d_pos + margin)` of distances, and `logsigmoid(pos - neg)`
    that is minimized.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in HINGES or len(call.op.inputs) != 1:
            continue
        difference = _find_difference(scene, call)
        if difference is None or difference.op.span in seen:
            continue
        signs = _read_names(scene, difference)
        if signs != (-1, 1) or not _is_of_distances(scene, difference):
            continue
        if not call.op.outputs[0].requires_grad or difference.op.span is None:
            continue
        seen.add(difference.op.span)
        first, second = scene.words(difference.op)[:2]
        message = (
            f"the loss falls as {first} falls and {second} rises: these are distances,"
            " and the negative is to be the farther one"
        )
        yield scene.finding(REVERSED_MINING, difference.op, message)
    yield from _find_minimized_shares(scene)
    yield from _find_exchanged_arguments(scene)


def _find_exchanged_arguments(scene: HazardContext) -> Iterator[Finding]:
    """Find `triplet_margin_loss(a, n, p)`: the negative where the positive belongs."""
    seen: set[object] = {None}
    for call in scene.calls:
        if call.name not in TRIPLETS or len(call.op.inputs) != 3:
            continue
        names = [word.strip("`") for word in scene.words(call.op)[:3]]
        if call.op.span in seen or len(names) != 3:
            continue
        if [_read_role(name) for name in names] != ["anchor", "negative", "positive"]:
            continue
        seen.add(call.op.span)
        message = (
            f"`{names[1]}` is the positive of this loss, and `{names[2]}` the negative:"
            " the arguments are an anchor, a positive, a negative"
        )
        yield scene.finding(REVERSED_MINING, call.op, message)


TRIPLETS = frozenset({"triplet_margin_loss", "triplet_margin_with_distance_loss"})
ROLES = {
    "anchor": re.compile(r"anchor|(^|_)a$|(^|_)anc", re.I),
    "positive": re.compile(r"positive|(^|_)pos(_|$)|(^|_)p$", re.I),
    "negative": re.compile(r"negative|(^|_)neg(_|$)|(^|_)n$", re.I),
}
"""How the three samples of a triplet are called."""


def _read_role(name: str) -> str:
    """Return what a tensor of a triplet is by its name, or an empty text."""
    word = name.rpartition(".")[2]
    roles = [role for role, pattern in ROLES.items() if pattern.search(word)]
    return roles[0] if len(roles) == 1 else ""


def _find_difference(scene: HazardContext, call: OperatorCall) -> OperatorCall | None:
    """Return the difference of two tensors to which a hinge adds its margin."""
    maker = scene.maker(call.op.inputs[0])
    for _ in range(3):
        if maker is None:
            return None
        if maker.name in SUBTRACTING and len(maker.op.inputs) == 2:
            return maker
        if maker.name not in SUMS | REARRANGING or len(maker.op.inputs) != 1:
            return None
        maker = scene.maker(maker.op.inputs[0])
    return None


def _read_names(scene: HazardContext, difference: OperatorCall) -> tuple[int, int]:
    """Return 1 for a positive and -1 for a negative by the names of two operands, 0 for
    any other.
    """
    signs = []
    for name in scene.words(difference.op)[:2]:
        word = name.strip("`").rpartition(".")[2].lower()
        is_positive, is_negative = POSITIVE.search(word), NEGATIVE.search(word)
        signs.append(bool(is_positive) - bool(is_negative))
    return (signs[0], signs[1]) if len(signs) == 2 else (0, 0)


def _is_of_distances(scene: HazardContext, difference: OperatorCall) -> bool:
    """Return whether both operands of a difference are distances of samples."""
    for fact in difference.op.inputs:
        names = {c.name for c in find_ancestors(scene, fact, NEAREST).values()}
        if not names & SQUARED and not any(map(DISTANCES.search, names - NORMS)):
            return False
        if "cosine_similarity" in names:
            return False
    return True


def _find_minimized_shares(scene: HazardContext) -> Iterator[Finding]:
    """Find the logarithm of the share of a positive over a negative, minimized."""
    seen: set[object] = set()
    for loss in iter_losses(scene):
        for term in find_terms(scene, loss):
            call = scene.maker(term.fact)
            if call is None or call.name not in LOG_SHARES or not call.op.inputs:
                continue
            difference = scene.maker(call.op.inputs[0])
            if difference is None or difference.name not in SUBTRACTING:
                continue
            if len(difference.op.inputs) != 2 or call.op.span in seen:
                continue
            first, second = _read_names(scene, difference)
            is_reversed = (first, second) == ((1, -1) if term.factor > 0 else (-1, 1))
            if not is_reversed or call.op.span is None:
                continue
            seen.add(call.op.span)
            positive = scene.words(difference.op)[0 if first > 0 else 1]
            message = (
                f"the loss is smallest where {positive} is the lower score: the"
                f" logarithm is {'minimized' if term.factor > 0 else 'maximized'} here"
            )
            yield scene.finding(REVERSED_MINING, call.op, message)
