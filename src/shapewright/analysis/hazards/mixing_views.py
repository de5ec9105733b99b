"""Find views that put the size of a dim where its elements are not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.flattened_channels import (
    find_flattened_channels,
    find_unfolded_patches,
)
from shapewright.analysis.hazards.rearranged_axes import find_rearranged_axes
from shapewright.analysis.hazards.turned_pixels import find_turned_pixels
from shapewright.analysis.hazards.written_sizes import (
    find_axis_of_maker,
    find_input_dim,
    find_named_axis,
    list_written_sizes,
)
from shapewright.analysis.program_run import format_shape
from shapewright.analysis.provenance.axes import Axis, RegroupedDims
from shapewright.analysis.provenance.axis_flow import get_length
from shapewright.findings.codes import (
    BATCH_AXIS,
    VIEW_MIXES_DIMS,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Fact, Op

JOINS = operators_with("concatenates")
REORDERING = operators_with("transposes_dims", "moves_dims") | {"contiguous", "permute"}
SMALL = 4
"""An axis of this size or less may well equal another number of the program."""


@looks_for(VIEW_MIXES_DIMS)
def find_mixing_views(scene: HazardContext) -> Iterator[Finding]:
    """Find reshapes that put an axis's size in another place than its elements."""
    mixed: set[int] = set()
    messages: dict[
        object, str
    ] = {}  # of a class whose layers are built with other sizes
    for op, block in scene.flow.recuts:
        if op.span is None:
            continue
        if mixed & set(_iter_reordered(scene, op.inputs[0])):
            mixed |= {op.outputs[0].tensor}
            continue  # what was mixed before is in no right order any more
        finding = _find_mixing(scene, op, block)
        if finding is not None:
            mixed |= {op.outputs[0].tensor}
            key = op.span, len(op.outputs[0].shape)
            if messages.setdefault(key, finding.message) == finding.message:
                yield finding
    yield from find_flattened_channels(scene)
    yield from find_unfolded_patches(scene)
    if not mixed:
        yield from find_rearranged_axes(scene)
    yield from find_turned_pixels(scene)


def _find_mixing(scene: HazardContext, op: Op, block: RegroupedDims) -> Finding | None:
    """Return the finding on a reshape that puts an axis elsewhere, or None."""
    moved = None if _is_skewed(scene, op, block) else _find_moved_axis(block)
    moved = moved or find_named_axis(scene, op, block)
    if moved is None and not _is_skewed(scene, op, block):
        moved = find_axis_of_maker(scene, op, block)
    joined = moved is not None and block.axes[0].kind == "parts"
    cat = _find_joining_cat(scene, op.inputs[0], block) if joined else None
    if moved is not None and cat is not None and scene.is_batch((moved,)):
        return _report_parts(scene, cat, op)
    if moved is not None and not _is_written_as_cut(scene, op, block):
        return _report_move(scene, op, block, moved)
    if _has_mixed_rows(scene, op, block):
        return _report_cut(scene, op, block)
    if _has_mixed_channels(block):
        return _report_channels(scene, op, block)
    if _has_tokens_of_rows(block):
        return _report_tokens(scene, op, block)
    return None


def _iter_reordered(scene: HazardContext, fact: Fact) -> Iterator[int]:
    """Yield a tensor and those that it is only another order of the elements of."""
    for _ in range(STEPS):
        yield fact.tensor
        maker = scene.program.producers.get(fact.tensor)
        name = maker.name.rpartition(".")[2] if maker is not None else ""
        if maker is None or not maker.inputs or name not in REORDERING:
            return
        fact = maker.inputs[0]


def _find_moved_axis(block: RegroupedDims) -> Axis | None:
    """Return the axis that a reshape moved, as far as the sizes show it, or None."""
    axes = block.axes
    if _is_swapped(block):
        return axes[0]
    if _has_heads_in_front(block):
        return axes[1]
    if _is_of_images(block):
        return axes[0]
    if len(axes) < 2 or not any(axis.data for axis in axes):
        return None
    if _is_split_around(block):
        return axes[0]
    if any(axis.kind == "changed" and (axis.explicit or not axis.of) for axis in axes):
        return None  # padded, or a slice of what was put together: a relative shift
    if len({id(axis.root) for axis in axes}) == 1:
        return None  # pieces of one axis, as where a diagonal is cut away
    sizes = [get_length(dim) for dim in block.dims]
    kept = {id(axis) for dim in block.dims for axis in dim if len(dim) == 1}
    for axis in axes:
        if id(axis) in kept or axis.size not in sizes or axis.size < 2:
            continue
        if not axis.data and axis.size <= SMALL:
            continue
        if block.aligned and (axis.size <= SMALL or not _is_mixed(block)):
            continue
        if axis.kind == "part" and id(axis.of) in kept:
            continue
        return axis
    return None


def _is_of_images(block: RegroupedDims) -> bool:
    """Return whether images with their channels last get these in front by a view, or
    the reverse: (H, W, 3) as (3, H, W).
    """
    before = [axis.size for axis in block.axes]
    after = [get_length(dim) for dim in block.dims]
    if len(before) != 3 or len(after) != 3 or sorted(before) != sorted(after):
        return False
    last, first = before[-1], before[0]
    to_front = last in COLOURS and after == [last, *before[:2]]
    to_back = first in COLOURS and after == [*before[1:], first]
    return (to_front or to_back) and min(sorted(before)[1:]) >= SMALLEST_SIDE


COLOURS = (3, 4)
SMALLEST_SIDE = 8
"""Pixels of a side of an image, at least."""


def _is_swapped(block: RegroupedDims) -> bool:
    """Return whether two dims come out with their sizes exchanged, as by
    `view(B, T, F)` of (B, F, T).
    """
    before = [axis.size for axis in block.axes]
    after = [get_length(dim) for dim in block.dims]
    return (
        len(before) == 2
        and after == before[::-1]
        and before[0] != before[1]
        and min(before) > SMALL
        and block.axes[0].root is not block.axes[1].root
    )


def _has_heads_in_front(block: RegroupedDims) -> bool:
    """Return whether (heads, tokens, features) of one cut become (tokens, heads x
    features) without a transpose; the tokens may be the rows and columns of a grid.
    """
    axes, sizes = block.axes, [get_length(dim) for dim in block.dims]
    if len(axes) < 3 or len(sizes) != 2 or axes[0].of is None:
        return False
    if len(axes) > 3 and block.before[1] - block.before[0] != 3:
        return False
    heads, *grid, features = axes
    tokens = prod(axis.size for axis in grid)
    return (
        heads.of is features.of
        and sizes == [tokens, heads.size * features.size]
        and tokens not in (1, heads.size)
    )


def _is_split_around(block: RegroupedDims) -> bool:
    """Return whether features are cut into heads on both sides of the tokens, as by
    `view(B, heads, N, D // heads)` of (B, N, D).
    """
    axes, sizes = block.axes, [get_length(dim) for dim in block.dims]
    if len(axes) != 2 or len(sizes) != 3 or axes[1].kind != "feature":
        return False
    tokens = axes[0].size
    return (
        axes[0].data
        and tokens == sizes[1]
        and tokens > SMALL
        and tokens != sizes[0]
        and sizes[0] > 1
        and sizes[0] * sizes[2] == axes[1].size
    )


def _is_skewed(scene: HazardContext, op: Op, block: RegroupedDims) -> bool:
    """Return whether a slice of the result follows, as when a view shifts relative
    position scores.
    """
    out = op.outputs[0]
    for user in scene.users.get(out.tensor, ()):
        if user.name in ("[]", "narrow", "index_select", "slice") and user.dims[0]:
            after = user.op.outputs[0].shape
            if len(after) == len(out.shape) and user.op.outputs[0] != out:
                if _is_swapped(block) and _is_of_plain_data(block):
                    continue
                return any(after[d] != out.shape[d] for d in range(*block.after))
    return False


def _is_of_plain_data(block: RegroupedDims) -> bool:
    """Return whether a reshape takes axes of data, or a part of them, and none that was
    padded.
    """
    return all(
        axis.root.kind in ("input", "source") and axis.size <= axis.root.size
        for axis in block.axes
    )


def _is_mixed(block: RegroupedDims) -> bool:
    """Return whether parts of a data axis are merged with other axes, or the whole axis
    is moved.

    Else what is cut is the features, as where `(H, W, A * K)` becomes `(H * W * A, K)`.
    """
    if sorted(map(get_length, block.dims)) == sorted(axis.size for axis in block.axes):
        return True
    whole = {id(axis) for axis in block.axes}
    return any(
        axis.kind == "part" and axis.data and id(axis) not in whole
        for dim in block.dims
        if len(dim) > 1
        for axis in dim
    )


def _is_written_as_cut(scene: HazardContext, op: Op, block: RegroupedDims) -> bool:
    """Return whether the program cuts an axis by `//` to join its parts with the next,
    as where `(B, T, C)` becomes `(B, T // 8, 8 * C)`: sizes may agree by chance.
    """
    where = scene.program.call_at(op.span) if block.aligned else None
    if where is None:
        return False
    text, call = where
    sizes = list_written_sizes(call)
    if len(sizes) != len(op.outputs[0].shape):
        return False
    cut = _find_definition(text, sizes[block.after[0]])
    return isinstance(cut, ast.BinOp) and isinstance(cut.op, ast.FloorDiv)


def _find_definition(text: SourceText, size: ast.expr) -> ast.expr:
    """Return what a name was given in the same function, other expressions as such."""
    function = text.around(size, ast.FunctionDef)
    if not isinstance(size, ast.Name) or function is None:
        return size
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == size.id
            for target in node.targets
        ):
            return node.value
    return size


def _has_mixed_rows(scene: HazardContext, op: Op, block: RegroupedDims) -> bool:
    """Return whether rows of the result mix elements of different samples."""
    axes = block.axes
    if block.before[0] != 0 or block.aligned or len(axes) < 2:
        return False
    if not scene.model or not scene.is_batch((axes[0],)) or axes[0].size < 2:
        return False
    return op.inputs[0].dtype.startswith(("float", "bfloat")) and any(
        axis.kind == "feature" for axis in axes
    )


def _has_mixed_channels(block: RegroupedDims) -> bool:
    """Return whether tokens with their features in the last dim become an image with
    its channels in front: `(B, H * W, C)` viewed as `(B, C, H, W)`.
    """
    sizes = [get_length(dim) for dim in block.dims]
    if len(block.axes) < 2 or len(sizes) < 3 or block.axes[-1].kind != "feature":
        return False
    features, tokens = block.axes[-1].size, prod(axis.size for axis in block.axes[:-1])
    sides = sizes[-2] * sizes[-1]
    prefixes = [prod(sizes[:at]) for at in range(1, len(sizes))]
    return (
        any(axis.data or axis.kind == "changed" for axis in block.axes[:-1])
        and min(sizes[-2:]) > 1
        and tokens % sides == 0
        and sizes[-3] % features == 0
        and tokens not in prefixes
    )


def _has_tokens_of_rows(block: RegroupedDims) -> bool:
    """Return whether images become tokens of a few rows of one channel each, as by
    `view(B, 9, -1)` of (B, 3, 24, 24): a patch has all channels, and parts of rows.
    """
    axes, dims = block.axes, block.dims
    if len(axes) != 3 or len(dims) != 2 or not all(axis.data for axis in axes):
        return False
    channels, height, width = axes
    parts = [axis for dim in dims for axis in dim if axis.of is height]
    straddles = (
        len(parts) == 2
        and [axis.of for axis in dims[0]][-1:] == [height]
        and [axis.of for axis in dims[1]][:1] == [height]
    )
    joined = len(dims[0]) > 1 and len(dims[1]) > 1 and dims[1][-1] is width
    return straddles and joined and channels.size <= SMALL < height.size


def _report_tokens(scene: HazardContext, op: Op, block: RegroupedDims) -> Finding:
    before, after = op.inputs[0], op.outputs[0]
    channels, height, width = block.axes
    rows = block.dims[1][0].size
    message = (
        f"{scene.operation(op)} of {format_shape(before)} to {format_shape(after)}"
        f" moves no elements: each token holds {rows} whole rows of one of the"
        f" {channels.size} channels, no patch"
    )
    why = (
        f"cut {height.size} and {width.size} into patches and permute them to the front"
    )
    return scene.finding(VIEW_MIXES_DIMS, op, message, (op, why))


def _report_channels(scene: HazardContext, op: Op, block: RegroupedDims) -> Finding:
    before, after = op.inputs[0], op.outputs[0]
    features = block.axes[-1].size
    message = (
        f"{scene.operation(op)} of {format_shape(before)} to {format_shape(after)}"
        f" moves no elements: the {features} features of each token, which lie side by"
        " side, become pixels"
    )
    return scene.finding(
        VIEW_MIXES_DIMS, op, message, (op, "transpose the features to the front first")
    )


def _report_move(
    scene: HazardContext, op: Op, block: RegroupedDims, axis: Axis
) -> Finding:
    before, after = op.inputs[0], op.outputs[0]
    old = find_input_dim(scene, op, axis)
    sizes = [get_length(dim) for dim in block.dims]
    size = axis.size if axis.size in sizes else before.shape[old]  # rows of a grid
    new = block.after[0] + sizes.index(size)
    name = scene.names(op)[0].rsplit(" (", 1)[0]
    is_whole = before.shape[old] == size
    part = "" if is_whole else "a part of "
    message = (
        f"{scene.operation(op)} of {name} {format_shape(before)} to"
        f" {format_shape(after)} moves no elements: dim {new} is as long as"
        f" {part}dim {old} was, but counts others"
    )
    reason = f"{size} is {axis.words}" if axis.words else ""
    if not reason or not axis.size == axis.root.size == size:
        reason = f"{size} is {part}dim {old}"
    return scene.finding(
        VIEW_MIXES_DIMS, op, message, (op, f"{reason}; transpose or permute moves it")
    )


def _find_joining_cat(
    scene: HazardContext, fact: Fact, block: RegroupedDims
) -> Op | None:
    """Return the `cat` along dim 0 that joined the parts, or None."""
    for _ in range(STEPS):
        op = scene.program.producers.get(fact.tensor)
        if op is None or not op.inputs:
            return None
        if op.name.rpartition(".")[2] in JOINS:
            first = scene.flow.of(op.outputs[0])[0][0]
            return op if first is block.axes[0] else None
        fact = op.inputs[0]
    return None


STEPS = 12
"""Ops between a `cat` and the view that pairs its rows."""


def _report_parts(scene: HazardContext, cat: Op, op: Op) -> Finding:
    """Report parts joined along the batch but viewed as if along the features."""
    names = ", ".join(scene.names(cat))
    message = (
        f"{scene.operation(cat)} of {names} puts the samples of the parts after each"
        f" other, but the view to {format_shape(op.outputs[0])} takes neighbours of one"
        " part together"
    )
    return scene.finding(
        BATCH_AXIS,
        cat,
        message,
        (op, "adjacent rows are merged into one row here"),
    )


def _report_cut(scene: HazardContext, op: Op, block: RegroupedDims) -> Finding:
    before, after = op.inputs[0], op.outputs[0]
    count = block.axes[0].size
    message = (
        f"{scene.operation(op)} of {format_shape(before)} to {format_shape(after)} puts"
        f" elements of several samples in one row: {count} samples become"
        f" {after.shape[0]} rows"
    )
    return scene.finding(VIEW_MIXES_DIMS, op, message)
