"""The tensors of a refused call, with the dims that do not fit.

A tensor with too few elements in a dim has missing cells there, one with too many has
the rest in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Any

from shapewright.index_maps.drawn_calls import Drawn, Side, Unfit
from shapewright.views.drawing.grids import (
    LAST,
    ROWS,
    Axes,
    Cell,
    Grid,
    Index,
    build_grid,
    describe_left_out,
    format_cell,
    format_title,
    get_element,
    get_index,
    get_plane,
    get_widest,
)

MOST_ELEMENTS = 4096
"""Elements of a shape that is filled with those of an input, at most."""
MOST_GRIDS = 4
Fit = Callable[[int, int], int]
"""Returns how many of a number of columns are shown, if a value has this many
characters: all if they fit the page, else as many as leave room for another tensor."""


def build_refused_grids(drawn: Drawn, fit: Fit) -> list[Grid]:
    """Return the tensors with parts that do not fit, as grids."""
    grids: list[Grid] = []
    for side in drawn.inputs:
        parts = [unfit for unfit in drawn.unfit if unfit.name == side.name]
        if not parts or side.values is None or not side.size:
            continue
        kind = parts[0].part
        if kind == "dim":
            grids.append(_build_unfit_grid(side, parts, fit))
        elif kind == "values" and parts[0].needs is not None:
            grid = _build_marked_grid(side, _find_outside(side, parts[0]), fit)
            grids.append(replace(grid, captions=(f"0 to {parts[0].needs - 1} fit",)))
        elif kind == "count":
            grids += _build_filled_grids(drawn, side, fit)
    return grids[:MOST_GRIDS]


def explain_marks(grids: Sequence[Grid], missing: str) -> list[str]:
    """Return what the marks of the grids mean."""
    cells = [cell for grid in grids for row in grid.rows for cell in row]
    words = []
    if any(cell.marked for cell in cells):
        words.append("in brackets: what has no counterpart")
    if any(cell.missing for cell in cells):
        words.append(f"`{missing}`: what is missing")
    return ["; ".join(words)] if words else []


def describe_unfit_dims(drawn: Drawn) -> list[str]:
    """Return the two dims that should be equal, with their letters, in a sentence."""
    sides = {side.name: side for side in drawn.inputs}
    parts = [
        f"dim {unfit.dim} of `{unfit.name}` is {sides[unfit.name].written[unfit.dim]}"
        for unfit in drawn.unfit
        if unfit.dim is not None and unfit.name in sides
    ]
    if len(parts) < 2:
        return []
    return [f"{', '.join(parts)}: they should be equal"]


# -- a dim -----------------------------------------------------------------------------


def _build_unfit_grid(side: Side, parts: Sequence[Unfit], fit: Fit) -> Grid:
    """Return the slice of a tensor that has the dims that do not fit.

    Their end is shown, or the place up to which they fit.
    """
    rank = len(side.shape)
    needs = {part.dim: part.needs for part in parts if part.dim is not None}
    axes = _choose_axes(rank, list(needs))
    row_dim, column_dim = (None if rank < 2 else axes[0] % rank), axes[1] % rank
    rows = _pick_near_end(side, row_dim, needs, ROWS)
    near = _pick_near_end(side, column_dim, needs, 40)
    corner = (0,) * rank

    def build(row: int, column: int) -> Cell:
        return _build_cell(side, get_index(corner, row, column, axes), needs)

    widest = max(len(build(r, c).text) for r in rows for c in near)
    count = max(side.shape[column_dim], needs.get(column_dim) or 0)
    columns = _pick_near_end(side, column_dim, needs, fit(widest, count))
    left_out = []
    for dim, shown, what in ((row_dim, rows, "rows"), (column_dim, columns, "columns")):
        size = 1 if dim is None else side.shape[dim]
        left_out += describe_left_out(size, [n for n in shown if n < size], what)
    return Grid(
        format_title(side, corner, axes),
        tuple(tuple(build(r, c) for c in columns) for r in rows),
        tuple(left_out),
        tuple(f"dim {dim} is {side.written[dim]}" for dim in sorted(needs)),
        axes,
    )


def _choose_axes(rank: int, unfit: list[int]) -> Axes:
    """Return the dims of rows and columns of the slice that is drawn."""
    outer = [dim for dim in unfit if dim < rank - 2]
    return (outer[0] - rank, -1) if outer else LAST


def _pick_near_end(
    side: Side, dim: int | None, needs: dict[int, int | None], most: int
) -> list[int]:
    """Return which positions of a dim are shown, those that are missing included."""
    if dim is None:
        return [0]
    size = side.shape[dim]
    fitting = needs.get(dim)
    count = size if fitting is None else max(size, fitting)
    if count <= most:
        return list(range(count))
    end = size if fitting is None else min(size, fitting)
    start = 0 if dim not in needs else max(0, min(end - most // 2, count - most))
    return list(range(start, start + most))


def _build_cell(side: Side, index: Index, needs: dict[int, int | None]) -> Cell:
    """Return the cell of an element, or of one that is missing."""
    if any(at >= size for at, size in zip(index, side.shape, strict=True)):
        return Cell("", index=index, missing=True)
    extra = any(
        fitting is not None and index[dim] >= fitting for dim, fitting in needs.items()
    )
    return Cell(format_cell(get_element(side.values, index)), extra, index)


# -- values, and counts of elements ----------------------------------------------------


def _find_outside(side: Side, part: Unfit) -> list[Index]:
    """Return the elements of an index that name no place."""
    count = part.needs or 0
    if side.size > MOST_ELEMENTS:
        return []
    places = (_compute_index(flat, side.shape) for flat in range(side.size))
    return [at for at in places if not 0 <= get_element(side.values, at) < count]


def _compute_index(flat: int, shape: Index) -> Index:
    """Return the index of an element by its position in row-major order."""
    places = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        places.append(place)
    return tuple(reversed(places))


def _build_marked_grid(side: Side, marks: Sequence[Index], fit: Fit) -> Grid:
    """Return a tensor with marked elements."""
    return build_grid(
        side, marks, fit(get_widest(side, marks), get_plane(side.shape)[1])
    )


def _build_filled_grids(drawn: Drawn, side: Side, fit: Fit) -> list[Grid]:
    """Return an input, and the wanted shape filled with its elements in order."""
    shape = _find_wanted_shape(drawn, side.size)
    if shape is None or max(side.size, prod(shape)) > MOST_ELEMENTS:
        return []
    extra = [_compute_index(n, side.shape) for n in range(prod(shape), side.size)]
    elements = [
        get_element(side.values, _compute_index(n, side.shape))
        for n in range(side.size)
    ]
    missing = [_compute_index(n, shape) for n in range(side.size, prod(shape))]
    filled = Side(
        f"as {shape}", shape, side.dtype,
        values=_nest(iter([*elements, *[""] * len(missing)]), shape),
    )  # fmt: skip
    wanted = _build_marked_grid(filled, missing, fit)
    rows = tuple(
        tuple(replace(c, marked=False, missing=c.marked) for c in row)
        for row in wanted.rows
    )
    needs = f"{prod(shape)} elements"
    return [
        replace(
            _build_marked_grid(side, extra, fit), captions=(f"{side.size} elements",)
        ),
        replace(wanted, rows=rows, captions=(needs,)),
    ]


def _find_wanted_shape(drawn: Drawn, count: int) -> Index | None:
    """Return the shape that the call asks for; -1 becomes the next larger size."""
    named = {key: drawn.arguments.get(key) for key in ("sizes", "size", "shape")}
    shape: Any = next((value for value in named.values() if value), None)
    if shape is None and drawn.name.endswith("_as"):
        shape = drawn.inputs[-1].shape
    if drawn.name.endswith("unflatten") and len(drawn.inputs[0].shape) > 1:
        return None  # it is of one dim only
    if not isinstance(shape, tuple | list):
        return None
    if not all(type(size) is int for size in shape) or not shape or 0 in shape:
        return None
    known = abs(prod(shape))
    return tuple(-(-count // known) if size == -1 else size for size in shape)


def _nest(values: Any, shape: Index) -> Any:
    """Return values in row-major order as nested lists."""
    if len(shape) == 1:
        return list(islice(values, shape[0]))
    return [_nest(values, shape[1:]) for _ in range(shape[0])]
