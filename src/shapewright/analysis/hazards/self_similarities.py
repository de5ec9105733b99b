"""Find contrastive losses in which each sample is a candidate for itself."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    NEGATIONS,
    PRODUCTS,
    QUOTIENTS,
    REARRANGING,
    find_ancestors,
    find_base,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.view_axes import get_items
from shapewright.findings.codes import SELF_AS_CANDIDATE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

MATRIX_PRODUCTS = operators_with("is_product") | {"einsum"}
DISTANCES = frozenset({"cdist", "pairwise_distance"})
TURNS = operators_with("transposes_dims") | {"t", "T", "mT", "permute"}
RANGES = frozenset({"arange"})
MOVES = operators_with("moves_device") | {"long", "to", "contiguous"}


@looks_for(SELF_AS_CANDIDATE)
def find_self_candidates(scene: HazardContext) -> Iterator[Finding]:
    """Find similarities of a batch with itself that a loss reads with their diagonal.

    The targets are places in the batch that are not the diagonal: other views.
    """
    yield from _find_nearest_selves(scene)
    for call in scene.calls:
        if call.op.span is None or not call.op.inputs:
            continue
        places = _find_places(scene, call)
        product = _find_similarities(scene, call.op.inputs[0]) if places else None
        if product is None or not _is_of_other_rows(scene, places[0]):
            continue
        count = product.shape[0]
        name = scene.words(call.op)[0]
        message = (
            f"each of the {count} rows of {name} has its similarity with itself among"
            " the candidates, which is the largest: the diagonal is not masked"
        )
        yield scene.finding(
            SELF_AS_CANDIDATE,
            call.op,
            message,
            (product.op, "all are compared with all, and with themselves"),
        )


def _find_nearest_selves(scene: HazardContext) -> Iterator[Finding]:
    """Find `topk` of the similarities of a set with itself whose indices choose labels:
    each sample is the nearest to itself.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in NEAREST or call.op.span is None or call.op.span in seen:
            continue
        if call.op.inputs[0].requires_grad or call.op.inputs[0].ndim != 2:
            continue
        product = _find_similarities(scene, call.op.inputs[0])
        if product is None or not _is_choosing_labels(scene, call):
            continue
        is_smallest = call.given(4, "largest", default=True) is False
        if is_smallest != (product.name in DISTANCES) and call.name == "topk":
            continue
        if _is_first_left_out(scene, call):
            continue
        seen.add(call.op.span)
        message = (
            f"each of the {product.shape[0]} rows has itself among the candidates, and"
            f" `{call.name}` finds it first: the diagonal is not masked"
        )
        where = "all are compared with all, and with themselves"
        yield scene.finding(SELF_AS_CANDIDATE, call.op, message, (product.op, where))


def _is_choosing_labels(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the indices that a call returns read whole numbers as they are."""
    indices = call.op.outputs[-1]
    users = scene.users.get(indices.tensor, ())
    return any(
        user.name == "[]"
        and len(user.op.inputs) == 2
        and user.op.inputs[1].tensor == indices.tensor
        and user.op.inputs[0].dtype.startswith("int")
        for user in users
    ) and all(len(user.op.inputs) > 1 for user in users)


def _is_first_left_out(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether what follows from neighbours is read behind the first of them:
    `labels[nearest][:, 1:]`.
    """
    waiting, seen = [call.op.outputs[-1].tensor], set[int]()
    while waiting and len(seen) < FARTHEST:
        for user in scene.users.get(waiting.pop(0), ()):
            items = get_items(user) if user.name == "[]" else None
            if any(str(item).startswith("1:") for item in items or ()):
                return True
            if user.op.index not in seen:
                seen.add(user.op.index)
                waiting += [fact.tensor for fact in user.op.outputs]
    return False


FARTHEST = 16
"""Calls behind neighbours that are looked at."""
NEAREST = frozenset({"topk", "argmax", "max"})


def _find_places(scene: HazardContext, call: OperatorCall) -> list[Fact]:
    """Return the targets of a cross entropy, or what chooses among the logarithms of a
    softmax.
    """
    if call.name == "cross_entropy" and len(call.op.inputs) > 1:
        return [call.op.inputs[1]]
    if call.name not in LOGARITHMS:
        return []
    users = list(scene.users.get(call.op.outputs[0].tensor, ()))
    for user in users[:MOST]:
        if user.name in SUBTRACTING and user.op.outputs:
            users += scene.users.get(user.op.outputs[0].tensor, ())
    return [
        u.op.inputs[1] for u in users if u.name == "gather" and len(u.op.inputs) > 1
    ]


LOGARITHMS = frozenset({"log_softmax", "logsumexp"})
SUBTRACTING = operators_with("subtracts")
MOST = 4


def _find_similarities(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the product of a matrix with itself that scores are, but for a scale."""
    for _ in range(8):
        users = scene.users.get(fact.tensor, ())
        if any(user.op.kind == "inplace" for user in users):
            return None
        call = scene.maker(fact)
        if call is None or not call.op.inputs:
            return None
        if call.name in MATRIX_PRODUCTS | DISTANCES | {"cosine_similarity"}:
            return call if _is_with_itself(scene, call) else None
        if call.name in PRODUCTS | QUOTIENTS:
            if any(other.shape not in ((), (1,)) for other in call.op.inputs[1:]):
                return None
        elif call.name not in MOVES | NEGATIONS | {"float", "clone", "-"}:
            return None
        elif len(call.op.inputs) > 1:
            return None  # a mask may be subtracted
        fact = call.op.inputs[0]
    return None


def _is_with_itself(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether both sides of a product are one tensor of samples."""
    if len(call.op.inputs) != 2 or len(call.shape) != 2:
        return False
    left, right = call.op.inputs
    if call.name == "einsum":
        equation = str(call.given(0)).replace(" ", "").partition("->")[0]
        first, _, second = equation.partition(",")
        turned = first[-1:] == second[-1:] and first[:1] != second[:1]
        return turned and left.tensor == right.tensor
    return (
        call.shape[0] == call.shape[1]
        and call.shape[0] > 1
        and left.requires_grad == right.requires_grad
        and _find_matrix(scene, left).tensor == _find_matrix(scene, right).tensor
    )


def _find_matrix(scene: HazardContext, fact: Fact) -> Fact:
    """Return the tensor that a tensor shows, perhaps transposed."""
    return find_base(scene, fact, TURNS | {"[]"} - REARRANGING)


def _is_of_other_rows(scene: HazardContext, fact: Fact) -> bool:
    """Return whether targets are numbers of rows, shifted, joined or paired: no range
    of all rows in order, which is the diagonal.
    """
    base = find_base(scene, fact, MOVES)
    maker = scene.maker(base)
    if maker is None or maker.name in RANGES:
        return False
    return any(call.name in RANGES for call in find_ancestors(scene, base, 16).values())
