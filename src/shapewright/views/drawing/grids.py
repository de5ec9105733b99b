"""A tensor as a grid of text, with the colours of its names.

Colour never carries meaning alone: brackets mark the elements, carets the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from shapewright.index_maps.drawn_calls import Side
from shapewright.views.formatting import CODES, count_cells

Kinds = Mapping[str, str]
"""The style of each tensor's name: `read`, `where` it decides where to read, `out`."""

_SGR = re.compile(r"\x1b\[[0-9;]*m")


def count_columns(text: str) -> int:
    """Return the columns that a text needs in a terminal, without its color codes."""
    return count_cells(_SGR.sub("", text) if "\x1b" in text else text)


def _fill_width(text: str, width: int) -> str:
    """Return the text padded with blanks to `width` columns."""
    return text + " " * (width - count_columns(text))


def add_ink(text: str, style: str, colour: bool) -> str:
    """Return the text in a style of the terminal's palette, or unchanged."""
    if not colour or not text.strip() or not CODES[style]:
        return text
    bare = text.strip()
    before, _, after = text.partition(bare)
    return f"{before}\x1b[{CODES[style]}m{bare}\x1b[0m{after}"


def colour_names(line: str, every: Kinds, colour: bool) -> str:
    """Return a line of text or code with the names of tensors in their colors.

    A name counts if nothing else can be meant: before its index, in backticks, or if
    the line begins by setting it.
    """
    if not colour or not every:
        return line
    names = "|".join(sorted(map(re.escape, every), key=len, reverse=True))
    places = re.compile(
        rf"(?<![\w.])({names})(?=\[)|`({names})`|^(\s*)({names})(?= .?=)"
    )

    def painted(match: re.Match[str]) -> str:
        before, quoted, blanks, first = match.groups()
        if quoted:
            return f"`{add_ink(quoted, every[quoted], True)}`"
        name = before or first
        return f"{blanks or ''}{add_ink(name, every[name], True)}"

    return places.sub(painted, line)


Index = tuple[int, ...]
Axes = tuple[int, int]
"""The dims of the rows and of the columns of a slice."""
LAST: Axes = (-2, -1)
ROWS = 8
"""Rows that are shown of a larger grid."""
MOST_ROWS = 16
"""Rows that are shown if the marked elements, as those of a window, need as many."""
COLUMNS = 128
"""Columns that a grid may show, however wide the page is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An element that is shown, with its position in the tensor.

    A `missing` cell is one that the tensor lacks and would need.
    """

    text: str
    marked: bool = False
    index: Index = ()
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """The part of a tensor that is shown: rows of cells, and what is left out.

    `axes` are the dims of rows and columns, from the end. `captions` are lines on the
    tensor, above those on what is left out.
    """

    title: str
    rows: tuple[tuple[Cell, ...], ...]
    left_out: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    axes: Axes = LAST

    @property
    def is_vector(self) -> bool:
        """Return whether the tensor has no rows."""
        return not self.rows or len(self.rows[0][0].index) < 2


@dataclass(frozen=True, slots=True)
class Strokes:
    """The characters with which grids are drawn, and whether to use colours."""

    across: str
    down: str
    corners: str
    cut: str
    colour: bool = False
    missing: str = "·"


BOXES = Strokes("─", "│", "┌┐└┘", "…")
PLAIN = Strokes("-", "|", "++++", "...", missing=".")


def format_cell(value: Any) -> str:
    """Return a value as a short text."""
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, float):
        return f"{value:.3g}" if value % 1 or abs(value) >= 1e6 else str(int(value))
    if isinstance(value, complex):
        return f"{value:.2g}"
    return str(value)


def get_element(values: Any, index: Index) -> Any:
    """Return the element of nested lists at an index."""
    for place in index:
        values = values[place]
    return values


def _pick_places(size: int, most: int, wanted: Collection[int]) -> list[int]:
    """Return which of `size` positions are shown, with the wanted ones if possible."""
    if size <= most:
        return list(range(size))
    first = min(wanted, default=0)
    last = max(wanted, default=0)
    start = 0 if last < most else max(0, min(first, size - most))
    return list(range(start, min(size, start + most)))


def _pick_rows(size: int, wanted: Collection[int]) -> list[int]:
    """Return which rows are shown: a few more than usual if the wanted ones need it."""
    span = max(wanted, default=0) - min(wanted, default=0) + 1
    return _pick_places(size, span if ROWS < span <= MOST_ROWS else ROWS, wanted)


def build_grid(
    side: Side, marked: Collection[Index], most: int = 24, axes: Axes = LAST
) -> Grid:
    """Return the part of a tensor that has the marked elements, at most `most` columns.

    Of more than two dims the slice of the first marked element is shown, and named;
    `axes` are the dims of its rows and columns.
    """
    outer, flat = _select_plane(side, marked, axes)
    rows, columns = get_plane(side.shape, axes)
    shown_rows = _pick_rows(rows, {r for r, _ in flat})
    shown = _pick_places(columns, most, {c for _, c in flat})
    cells = tuple(
        tuple(
            _build_cell(side, get_index(outer, r, c, axes), (r, c) in flat)
            for c in shown
        )
        for r in shown_rows
    )
    cut = describe_left_out(rows, shown_rows, "rows") + describe_left_out(
        columns, shown, "columns"
    )
    if slices := prod(side.shape) // max(rows * columns, 1) - 1:
        cut.append(f"{slices} other slice{'s' if slices > 1 else ''}")
    seen = sum(cell.marked for row in cells for cell in row)
    if unseen := len(set(marked)) - seen:
        cut.append(f"{unseen} more marked, not shown")
    return Grid(format_title(side, outer, axes), cells, tuple(cut), axes=axes)


def _build_cell(side: Side, index: Index, marked: bool) -> Cell:
    """Return the cell of the element at an index."""
    return Cell(format_cell(get_element(side.values, index)), marked, index)


def get_widest(side: Side, marked: Collection[Index] = (), axes: Axes = LAST) -> int:
    """Return the length of the longest value that a grid of the tensor may show."""
    outer, flat = _select_plane(side, marked, axes)
    rows, columns = get_plane(side.shape, axes)
    wanted = {column for _, column in flat}
    starts = (0, min(wanted, default=0), columns - COLUMNS)
    near = {c for start in starts for c in range(max(0, start), start + COLUMNS)}
    return max(
        (
            len(format_cell(get_element(side.values, get_index(outer, r, c, axes))))
            for r in _pick_rows(rows, {row for row, _ in flat})
            for c in near
            if c < columns
        ),
        default=1,
    )


def _select_plane(
    side: Side, marked: Collection[Index], axes: Axes
) -> tuple[Index, set[tuple[int, int]]]:
    """Return an element of the slice that is drawn, and the row and column of each
    mark in it.
    """
    rank = len(side.shape)
    first = min(marked, default=(0,) * rank)
    if rank < 2:
        return first, {(0, sum(index)) for index in marked}
    outer = [dim for dim in range(rank) if dim not in _list_dims(rank, axes)]
    inside = [at for at in marked if all(at[dim] == first[dim] for dim in outer)]
    return first, {(index[axes[0]], index[axes[1]]) for index in inside}


def _list_dims(rank: int, axes: Axes) -> tuple[int, int]:
    """Return the dims of rows and columns, counted from the front."""
    return axes[0] % rank, axes[1] % rank


def draw_box(grid: Grid, strokes: Strokes = BOXES, style: str = "read") -> list[str]:
    """Return a grid as lines of equal width, marked elements in brackets and in a
    style."""
    colour = strokes.colour
    wide = max((len(c.text) for row in grid.rows for c in row), default=1) + 2
    columns = len(grid.rows[0]) if grid.rows else 0
    across = strokes.across * (wide * columns)
    left, right, low_left, low_right = tuple(strokes.corners)
    side = add_ink(strokes.down, "edge", colour)
    lines = [
        add_ink(grid.title, style, colour),
        add_ink(f"{left}{across}{right}", "edge", colour),
    ]
    for row in grid.rows:
        body = "".join(_format_in_box(c, wide, style, strokes) for c in row)
        lines.append(f"{side}{body}{side}")
    lines.append(add_ink(f"{low_left}{across}{low_right}", "edge", colour))
    lines += [add_ink(text, _get_cell_style(style), colour) for text in grid.captions]
    lines += [
        add_ink(f"{strokes.cut} {text}", "plain", colour) for text in grid.left_out
    ]
    wide = max(map(count_columns, lines))
    return [_fill_width(line, wide) for line in lines]


def _format_in_box(cell: Cell, wide: int, style: str, strokes: Strokes) -> str:
    """Return a cell in its column: in brackets if it is marked."""
    if cell.missing:
        text = f"{strokes.missing} ".rjust(wide)
    elif cell.marked:
        text = f"[{cell.text}]".rjust(wide)
    else:
        return f"{cell.text} ".rjust(wide)
    return add_ink(text, _get_cell_style(style), strokes.colour)


def _get_cell_style(style: str) -> str:
    """Return the style of marked cells of a tensor whose name has a style."""
    return f"{style}-cell" if f"{style}-cell" in CODES else style


def get_plane(shape: tuple[int, ...], axes: Axes = LAST) -> tuple[int, int]:
    """Return the number of rows and columns of the slice that is drawn."""
    if not shape:
        return 1, 1
    return (1, shape[0]) if len(shape) == 1 else (shape[axes[0]], shape[axes[1]])


def get_index(outer: Index, row: int, column: int, axes: Axes) -> Index:
    """Return the index of a cell in the slice of an element."""
    if len(outer) < 2:
        return (column,) * len(outer)
    index = list(outer)
    index[axes[0]], index[axes[1]] = row, column
    return tuple(index)


def format_title(side: Side, outer: Index, axes: Axes) -> str:
    """Return the name of the tensor with the slice that is drawn."""
    rank = len(outer)
    if rank <= 2:
        return side.name
    shown = _list_dims(rank, axes)
    places = [":" if dim in shown else str(at) for dim, at in enumerate(outer)]
    return f"{side.name}[{', '.join(places)}]"


def describe_left_out(count: int, shown: list[int], what: str) -> list[str]:
    """Return which rows or columns are shown, if not all."""
    if len(shown) == count or not shown:
        return []
    return [f"{what} {shown[0]} to {shown[-1]} of {count}"]


def join_beside(grids: list[list[str]], width: int, gap: int = 3) -> list[str]:
    """Return boxes next to each other while they fit, and the others below."""
    rows: list[list[list[str]]] = [[]]
    for box in grids:
        used = sum(count_columns(other[0]) + gap for other in rows[-1])
        if rows[-1] and used + count_columns(box[0]) > width:
            rows.append([])
        rows[-1].append(box)
    lines: list[str] = []
    for row in rows:
        for n in range(max(map(len, row))):
            parts = [
                box[n] if n < len(box) else " " * count_columns(box[0]) for box in row
            ]
            lines.append((" " * gap).join(parts).rstrip())
        lines.append("")
    return lines[:-1]
