"""Find predictions of flipped or turned pictures that are averaged with those of the
pictures as they are, and are not turned back.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import SUMS
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import FLIP_NOT_UNDONE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

TURNS = frozenset({"flip", "rot90"})
CONVOLUTIONS = operators_with("is_convolution")
SCALING = operators_with("divides_elements", "normalizes_along_dim") | {"*", "sigmoid"}
"""Calls between a sum of predictions and what is done with it."""
REDUCING = operators_with("reduces_dims")
FARTHEST = 1024
"""Calls of a model that are followed."""


@looks_for(FLIP_NOT_UNDONE)
def find_flipped_predictions(scene: HazardContext) -> Iterator[Finding]:
    """Find sums of a model's results for a picture and for the flipped picture."""
    seen: set[object] = set()
    for turn in scene.calls:
        if turn.name not in TURNS or len(turn.op.inputs) != 1 or turn.op.span is None:
            continue
        dims = _get_turned_dims(turn)
        if turn.op.span in seen or not dims or not scene.in_user_code(turn.op):
            continue
        turned, weights = _follow(scene, turn.op.outputs[0])
        if not turned:
            continue
        plain, own_weights = _follow(scene, turn.op.inputs[0])
        if not weights & own_weights:
            continue
        for call in _find_sums(scene, turned, plain - turned):
            is_map = any(_has_turned_dims(f, turn, dims) for f in call.op.outputs)
            if not is_map or call.op.span is None or _is_reduced(scene, call, dims):
                continue
            seen.add(turn.op.span)
            yield scene.finding(
                FLIP_NOT_UNDONE,
                call.op,
                "this adds what the model gives for a picture and for the same one"
                f" after `{turn.name}`, which is not turned back: each place is"
                " averaged with another place of the picture",
                (turn.op, "the picture is turned here"),
            )
            break


def _get_turned_dims(call: OperatorCall) -> tuple[int, ...]:
    """Return the dims that a call turns, counted from the end; none if one of them is
    that of the samples or of the channels.
    """
    rank = call.op.inputs[0].ndim
    dims = call.rest(1 if call.name == "flip" else 2, "dims") or ()
    if rank < 3 or not all(isinstance(dim, int) for dim in dims):
        return ()
    from_end = tuple(dim - rank if dim >= 0 else dim for dim in dims)
    first = 1 if rank == 3 else 2
    return from_end if all(dim + rank >= first for dim in from_end) else ()


def _has_turned_dims(fact: Fact, turn: OperatorCall, dims: tuple[int, ...]) -> bool:
    """Return whether a result has the sizes of the dims that were turned."""
    picture = turn.op.inputs[0]
    return fact.ndim >= 3 and all(
        fact.shape[dim] == picture.shape[dim] > 1 for dim in dims
    )


def _follow(scene: HazardContext, fact: Fact) -> tuple[set[int], set[int]]:
    """Return the tensors that convolutions of a model make of a tensor, as far as no
    call turns them, and the weights of the convolutions.
    """
    results, weights, waiting = set[int](), set[int](), [(fact.tensor, False)]
    met = set[tuple[int, bool]]()
    while waiting and len(met) < FARTHEST:
        state = waiting.pop(0)
        if state in met:
            continue
        met.add(state)
        tensor, is_result = state
        if is_result:
            results.add(tensor)
        for user in scene.users.get(tensor, ()):
            if user.name in TURNS or _is_written_to(user, tensor):
                continue
            is_layer = user.name in CONVOLUTIONS
            if is_layer and user.op.inputs[0].tensor != tensor:
                continue
            if is_layer:
                weights.add(user.op.inputs[1].tensor)
            waiting += [(f.tensor, is_result or is_layer) for f in user.op.outputs]
    return results, weights


def _is_written_to(call: OperatorCall, tensor: int) -> bool:
    """Return whether a call writes to another tensor what it makes of this one."""
    return call.op.kind == "inplace" and call.op.inputs[0].tensor != tensor


def _find_sums(
    scene: HazardContext, turned: set[int], plain: set[int]
) -> Iterator[OperatorCall]:
    """Yield the calls that add a tensor of one set to a tensor of the other, or stack
    them for a mean.
    """
    for call in scene.calls:
        tensors = {fact.tensor for fact in call.op.inputs}
        if not tensors & turned or not tensors - turned:
            continue
        others = tensors - turned
        shapes = {fact.shape for fact in call.op.inputs}
        if len(shapes) != 1 or not others & plain:
            continue
        users = scene.users.get(call.op.outputs[0].tensor, ())
        along = call.given(1, "dim", default=0)
        is_mean = call.name == "stack" and any(
            user.name in REDUCING and user.given(1, "dim") == along for user in users
        )
        if is_mean or (call.name in SUMS and len(call.op.inputs) == 2):
            yield call


def _is_reduced(
    scene: HazardContext, call: OperatorCall, dims: tuple[int, ...]
) -> bool:
    """Return whether a sum of predictions is reduced over its places, so that their
    order does not matter.
    """
    if call.name == "stack":
        return False
    waiting = [call]
    for _ in range(4):
        users = [
            user
            for current in waiting
            for user in scene.users.get(current.op.outputs[0].tensor, ())
        ]
        for user in users:
            rank = user.op.inputs[0].ndim
            along = user.rest(1, "dim")
            if user.name in REDUCING and (
                along is None
                or any(isinstance(d, int) and (d - rank if d >= 0 else d) in dims
                       for d in along)
            ):  # fmt: skip
                return True
        waiting = [user for user in users if user.name in SCALING | SUMS]
    return False
