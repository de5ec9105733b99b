"""The layout of a tensor in its storage, in words, and the page of a single tensor."""

from __future__ import annotations

from math import prod
from textwrap import wrap

from shapewright.index_maps.drawn_calls import MOST, Side, Stored, iter_offsets
from shapewright.sizes.strides import contiguous, is_contiguous
from shapewright.views.drawing.call_sections import describe_tensor_costs
from shapewright.views.drawing.grids import (
    BOXES,
    Cell,
    Grid,
    Strokes,
    add_ink,
    build_grid,
    draw_box,
    format_cell,
    get_widest,
)
from shapewright.views.drawing.svg_canvas import PAD, Box, Canvas, get_cell_width, put

LETTERS = "ijklmnpqrs"


def get_places(side: Side) -> list[str]:
    """Return a letter for each dim: that of its size if it has one, else `i, j, k`."""
    own = [(letter or "").lower() for letter in side.letters or ("",) * len(side.shape)]
    named = [
        letter
        if letter and own.count(letter) == 1 and letter not in side.letters
        else ""
        for letter in own
    ]
    free = (letter for letter in LETTERS if letter not in named)
    return [letter or next(free, "?") for letter in named]


def _format_facts(stored: Stored) -> list[str]:
    """Return the facts about a tensor, one per line."""
    side = stored.side
    if not side.stride and side.shape:
        return [*stored.notes]
    lines = [
        _format_stride_sum(side),
        f"stride {side.stride}, storage offset {side.offset}",
    ]
    lines += _describe_order(side)
    if stored.count or not stored.reason:
        lines += _describe_storage(stored)
    if stored.base is not None:
        lines.append(f"a view: it was made of a tensor of shape {stored.base}")
    if stored.version is not None:
        lines.append(f"version {stored.version}: {_format_writes(stored.version)}")
    return [*lines, *stored.notes]


def _format_writes(version: int) -> str:
    """Return how often the tensor was written in place."""
    if not version:
        return "not written in place since it was made"
    times = "once" if version == 1 else f"{version} times"
    return f"written in place {times} since it was made"


def _format_stride_sum(side: Side) -> str:
    """Return `x[i, j]` is storage cell `6*i + j`."""
    letters = get_places(side)
    terms = [
        letter if step == 1 else f"{step}*{letter}"
        for letter, step in zip(letters, side.stride, strict=False)
    ]
    if side.offset or not terms:
        terms.insert(0, str(side.offset))
    at = f"[{', '.join(letters)}]" if letters else ""
    return f"{side.name}{at} is storage cell {' + '.join(terms)}"


def _describe_order(side: Side) -> list[str]:
    """Return whether the tensor is contiguous and, if it is not, why."""
    due = contiguous(side.shape)
    if is_contiguous(side.shape, side.stride):
        if not side.size:
            return ["contiguous: it has no elements"]
        if side.size == 1:
            return ["contiguous: it has one element"]
        if side.stride == due:
            return ["contiguous: neighbours in the last dim are neighbours in storage"]
        return ["contiguous: only dims of size 1 have another stride"]
    return [
        f"not contiguous: row-major strides would be {due}",
        f"  {_explain_order(side)}",
    ]


def _explain_order(side: Side) -> str:
    """Return why a tensor is not contiguous."""
    dims = [d for d, size in enumerate(side.shape) if size != 1]
    for d in dims:
        if side.stride[d] == 0:
            return f"dim {d} has stride 0: its {side.shape[d]} places are one cell"
    by_step = sorted(dims, key=lambda d: -side.stride[d])
    shape = tuple(side.shape[d] for d in by_step)
    dense = tuple(side.stride[d] for d in by_step) == contiguous(shape)
    if by_step != dims:
        named = ", ".join(map(str, by_step))
        last = " (channels last)" if by_step == [0, 2, 3, 1] else ""
        gaps = "" if dense else "; and cells between are left out"
        return f"in storage its dims are in the order {named}{last}{gaps}"
    for d in reversed(dims):
        inner = prod(side.shape[d + 1 :])
        if side.stride[d] != inner:
            more = side.stride[d] > inner
            reason = "cells between are left out" if more else "cells are met again"
            step = _format_count(side.stride[d], "cell")
            return f"a step along dim {d} is {step}, {inner} would be dense: {reason}"
    raise AssertionError(side)


def _describe_storage(stored: Stored) -> list[str]:
    """Return how much of the storage the tensor covers."""
    size, reached = stored.side.size, stored.reached
    cells, nbytes = (
        _format_count(stored.count, "cell"),
        _format_count(stored.itemsize, "byte"),
    )
    lines = [f"storage: {cells} of {nbytes}"]
    if reached >= 0 and reached != stored.count:
        lines[0] += f", of which it reaches {reached:,}"
    if 0 <= reached < size:
        inside = f"{_format_count(size, 'element')} in {_format_count(reached, 'cell')}"
        lines.append(f"{inside}: one cell is several elements")
    return lines


def _format_count(count: int, what: str) -> str:
    """Return `1 cell` or `24 cells`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _draw_cells(stored: Stored, most: int) -> Grid | None:
    """Return the storage's first cells, at most `most` per row, with marks if covered.

    A cell's index is the number of the first cell of its row, and its place in the row.
    """
    if not stored.cells:
        return None
    shown = len(stored.cells)
    wide = next(
        wide for wide in (24, 12, 8, 6, 4, 3, 2, 1) if wide <= most or wide == 1
    )
    some = 0 <= stored.reached < stored.count  # a mark on every cell says nothing
    reached = set(iter_offsets(stored.side)) if some else set()
    rows = tuple(
        tuple(
            Cell(format_cell(stored.cells[n]), n in reached, (first, n - first))
            for n in range(first, min(first + wide, shown))
        )
        for first in range(0, shown, wide)
    )
    rest = stored.count - shown
    beyond = sum(place >= shown for place in reached)
    text = f"{_format_count(rest, 'more cell')}"
    text += f", {beyond:,} of them reached" if beyond else ""
    return Grid("storage", rows, (text,) if rest else ())


def _format_legend(stored: Stored) -> str:
    """Return the meaning of the marks in the storage."""
    if stored.reached < 0:
        return f"which cells are reached is not counted above {MOST:,} elements"
    if 0 < stored.reached < stored.count:
        return "marked cells are those that the tensor reaches"
    return "the tensor reaches every cell" if stored.reached else ""


def _count_most_characters(stored: Stored) -> int:
    """Return the length of the longest value that is shown of the storage."""
    return max((len(format_cell(value)) for value in stored.cells), default=1)


def format_tensor_text(
    stored: Stored, width: int = 80, strokes: Strokes = BOXES
) -> str:
    """Return the page of a tensor for the terminal."""
    side = stored.side
    parts = [[add_ink(_format_title(stored), "title", strokes.colour)]]
    if stored.reason:
        parts.append(wrap(f"values are not shown: {stored.reason}", width))
    if side.values is not None:
        most = max(1, (width - 4) // (get_widest(side) + 2))
        parts.append(draw_box(build_grid(side, [], most), strokes))
    parts.append([line for fact in _format_facts(stored) for line in wrap(fact, width)])
    parts.append(
        [line for cost in describe_tensor_costs(stored) for line in wrap(cost, width)]
    )
    row = _draw_cells(stored, (width - 4) // (_count_most_characters(stored) + 2))
    if row is not None:
        parts.append(
            [
                *draw_box(row, strokes),
                add_ink(_format_legend(stored), "plain", strokes.colour),
            ]
        )
    lines = "\n\n".join("\n".join(line.rstrip() for line in p) for p in parts if p)
    return f"{lines.rstrip()}\n"


def draw_tensor_svg(stored: Stored, width: float = 760) -> str:
    """Return the page of a tensor as SVG."""
    canvas = Canvas(max(width, 240))
    side = stored.side
    canvas.lines([_format_title(stored)], "text mono bold", 15)
    if stored.reason:
        canvas.lines([f"values are not shown: {stored.reason}"], "soft sans", 13)
    if side.values is not None:
        most = max(1, int((canvas.room - PAD) / get_cell_width(get_widest(side))))
        put(canvas, [Box(side.name, build_grid(side, [], most), {})])
    row = _draw_cells(
        stored,
        int((canvas.room - PAD) / get_cell_width(_count_most_characters(stored))),
    )
    if row is not None:
        every = [cell for line in row.rows for cell in line]
        kinds = {cell.index: "read" for cell in every if cell.marked}
        put(canvas, [Box("storage", row, kinds)])
        canvas.y -= 10
        canvas.lines([_format_legend(stored)], "soft sans", 12)
    canvas.lines([*_format_facts(stored), *describe_tensor_costs(stored)], after=14)
    description = " ".join([f"{side.shape_text} {side.dtype}.", *_format_facts(stored)])
    return canvas.page(_format_title(stored), description)


def _format_title(stored: Stored) -> str:
    """Return the name, shape and dtype of a tensor."""
    return f"{stored.side.name}  {stored.side.shape_text} {stored.side.dtype}"
