"""Find pieces of rows and columns that a reshape joins in the wrong pairs: windows that
are put together without the permute that moved them.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Axis, Dims
from shapewright.findings.codes import VIEW_MIXES_DIMS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

MEETING = operators_with("broadcasts_operands", "is_loss") | {"+", "-"}
JOINING = operators_with("regroups_dims")
FARTHEST = 12
"""Calls between the reshape and what its result meets."""


def find_rearranged_axes(scene: HazardContext) -> Iterator[Finding]:
    """Find tensors that meet others of their shape whose rows and columns lie whole
    where theirs are put together of pieces of both.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in MEETING or len(call.op.inputs) < 2:
            continue
        for mine, other in ((0, 1), (1, 0)):
            fact, whole = call.op.inputs[mine], call.op.inputs[other]
            dims, wholes = call.dims[mine], call.dims[other]
            is_met = fact.shape == whole.shape and dims and wholes
            pairs = _find_pairs(dims, wholes) if is_met else []
            maker = _find_joining(scene, fact) if len(pairs) > 1 else None
            order = _find_order(scene, maker, pairs) if maker is not None else ()
            if maker is None or not order or maker.span in seen:
                continue
            seen.add(maker.span)
            first = pairs[0][0]
            message = (
                f"{scene.operation(maker)} joins pieces of two dims in dim {first} of"
                f" {format_shape(maker.outputs[0])}: what it meets has each of them"
                f" whole; `permute({', '.join(map(str, order))})` lays the pieces of"
                " each side by side"
            )
            yield scene.finding(
                VIEW_MIXES_DIMS, maker, message, (call.op, "the two meet here")
            )


def _find_pairs(dims: Dims, wholes: Dims) -> list[tuple[int, Axis]]:
    """Return the dims that are put together of pieces of several axes, each with the
    axis that the other tensor has there, if all pieces of it are somewhere.
    """
    pieces = {
        id(axis.root) for dim in dims for axis in dim if axis.size < axis.root.size
    }
    pairs = []
    for at, (dim, whole) in enumerate(zip(dims, wholes, strict=True)):
        roots = {id(axis.root) for axis in dim if axis.size > 1}
        is_whole = len(whole) == 1 and whole[0].root is whole[0] and whole[0].data
        if len(roots) > 1 and is_whole and id(whole[0]) in pieces:
            pairs.append((at, whole[0]))
    return pairs


def _find_joining(scene: HazardContext, fact: Fact) -> Op | None:
    """Return the last reshape behind a tensor that joined dims, if only calls of each
    element stand between.
    """
    shape = fact.shape
    for _ in range(FARTHEST):
        maker = scene.program.producers.get(fact.tensor)
        if maker is None or not maker.inputs or fact.shape != shape:
            return None
        if maker.name.rpartition(".")[2] in JOINING:
            return maker if len(maker.inputs[0].shape) > len(shape) else None
        fact = maker.inputs[0]
    return None


def _find_order(
    scene: HazardContext, maker: Op, pairs: list[tuple[int, Axis]]
) -> tuple[int, ...]:
    """Return the order of the dims before a reshape with which each dim behind it has
    the pieces of one axis; empty if there is none.
    """
    before = scene.flow.dims.get(maker.inputs[0].tensor)
    after = maker.outputs[0].shape
    if before is None or any(len(dim) != 1 for dim in before):
        return ()
    wanted = dict(pairs)
    free = [at for at, (axis,) in enumerate(before)
            if all(axis.root is not whole for whole in wanted.values())]  # fmt: skip
    order: list[int] = []
    for at, size in enumerate(after):
        if at in wanted:
            own = [n for n, (axis,) in enumerate(before) if axis.root is wanted[at]]
        else:
            own, free = free[:1], free[1:]
        length = 1
        for place in own:
            length *= maker.inputs[0].shape[place]
        if length != size:
            return ()
        order += own
    return tuple(order) if sorted(order) == list(range(len(before))) else ()
