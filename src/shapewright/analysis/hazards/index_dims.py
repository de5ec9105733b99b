"""Find an index that counts along one dim and is used along another, such as experts
chosen by `topk` along the last dim and scattered along the tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import WRONG_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact

PLACED = operators_with("indexes_along_dim")
SORTING = operators_with("sorts_elements")
SIZED = operators_with("takes_size_first")
CHOOSING = operators_with("returns_indices") | SORTING | {"max", "min"}
DRAWING = operators_with("returns_indices") & operators_with("is_random")
"""Calls that draw of the last dim: their second argument is a number of draws."""
KEPT = ("view", "same", "copy")
"""Kinds of calls whose result has the values of their input."""
FARTHEST = 6
"""Calls between the choice and the use of its indices."""


def find_index_dims(scene: HazardContext) -> Iterator[Finding]:
    """Find `gather` and `scatter` along another dim than their index counts."""
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in PLACED or call.op.span in seen or len(call.dims) < 2:
            continue
        rank = len(call.dims[0])
        along = call.given(1, "dim")
        if call.op.span is None or type(along) is not int or not rank:
            continue
        choice = _find_choice(scene, call.op.inputs[1])
        right = _find_counted_dim(call, choice, along % rank) if choice else None
        if choice is None or right is None:
            continue
        if choice.op.span == call.op.span and not _is_written(scene, call):
            continue  # both within a function of torch, as `pack_padded_sequence`
        seen.add(call.op.span)
        shape, at = call.op.inputs[0].shape, along % rank
        message = (
            f"{scene.operation(call.op)} into {shape} runs along dim {at}, and the"
            f" indices count the {shape[right]} elements along dim {right}"
        )
        why = "the indices are chosen here"
        yield scene.finding(WRONG_AXIS, call.op, message, (choice.op, why))


def _is_written(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether the program itself writes the name of a call."""
    place = scene.program.call_at(call.op.span)
    return place is not None and get_called_name(place[1]) == call.name


def _find_choice(scene: HazardContext, index: Fact) -> OperatorCall | None:
    """Return the call that chose the indices along one of its dims, or None."""
    for _ in range(FARTHEST):
        maker = scene.maker(index)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in CHOOSING:
            return maker if index.dtype == "int64" else None
        if maker.op.kind not in KEPT:
            return None
        index = maker.op.inputs[0]
    return None


def _find_counted_dim(
    call: OperatorCall, choice: OperatorCall, along: int
) -> int | None:
    """Return the dim of the target that the indices count, if it is another one."""
    at = _find_chosen_dim(choice)
    chosen = choice.dims[0][at] if at is not None else ()
    target = call.dims[0]
    if len(chosen) != 1 or len(target[along]) != 1 or chosen[0].size < 2:
        return None
    axis = chosen[0].root
    if target[along][0].root is axis:
        return None
    places = [
        place
        for place, dim in enumerate(target)
        if len(dim) == 1 and dim[0].root is axis and dim[0].size == chosen[0].size
    ]
    return places[0] if len(places) == 1 else None


def _find_chosen_dim(choice: OperatorCall) -> int | None:
    """Return the dim along which a call chooses, draws or sorts, or None."""
    rank = len(choice.dims[0])
    if choice.name in DRAWING:
        return rank - 1 if rank else None
    place = 2 if choice.name in SIZED else 1
    default = -1 if choice.name in SORTING else None
    at = choice.given(place, "dim", default=default)
    return at % rank if type(at) is int and rank else None
