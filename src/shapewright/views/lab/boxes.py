"""Grids as boxes of SVG: where each cell stands, and the arrows between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shapewright.views.lab.canvas import MONO, PAD, Canvas
from shapewright.views.lab.grid import Grid, Index

HIGH = 24.0
"""A cell's height."""
HEAD = 38.0
"""The room above the cells: title and column numbers."""
GAP = 40.0
SMALL = 10.0


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the cells of a grid stand: its sides, and which row of grids it is in.

    `edge` is the right side of all that belongs to it, title and texts too; `told` is
    whether a text stands below its cells.
    """

    name: str
    left: float
    right: float
    edge: float
    told: bool
    top: float
    bottom: float
    row: int
    number: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell stands on the page."""

    x: float
    y: float
    width: float
    frame: Frame

    @property
    def end(self) -> float:
        """Its right side."""
        return self.x + self.width

    @property
    def foot(self) -> float:
        """Its lower side."""
        return self.y + HIGH


Places = dict[tuple[str, Index], Place]


@dataclass(frozen=True, slots=True)
class Box:
    """A grid that is to be placed: `kinds` are the classes of its marked cells."""

    name: str
    grid: Grid
    kinds: Mapping[Index, str]

    @property
    def cell(self) -> float:
        """A cell's width."""
        rows = self.grid.rows
        longest = max((len(one.text) for row in rows for one in row), default=1)
        return cell_width(longest)

    @property
    def gutter(self) -> float:
        """The room for row numbers."""
        first = self.grid.rows[-1][0].index if self.grid.rows else ()
        return 8 + len(str(first[-2])) * SMALL * MONO if len(first) > 1 else 0

    @property
    def width(self) -> float:
        """With its numbers and texts."""
        columns = len(self.grid.rows[0]) if self.grid.rows else 0
        texts = [len(text) + 2 for text in self.grid.left_out]
        title = len(self.grid.title) * 13 * MONO
        return max(
            self.gutter + columns * self.cell,
            title,
            max(texts, default=0) * 11 * MONO,
        )

    @property
    def height(self) -> float:
        """With its title, numbers and texts."""
        return HEAD + len(self.grid.rows) * HIGH + 4 + 16 * len(self.grid.left_out)


def cell_width(characters: int) -> float:
    """The width of a cell for so many characters."""
    return max(HIGH, round(characters * 12 * MONO + 10))


def columns_that_fit(characters: int, columns: int, room: float) -> int:
    """All columns where they fit, else what leaves room for a second grid."""
    wide = cell_width(characters)
    if columns * wide + PAD <= room:
        return columns
    return max(1, int(((room - GAP) / 2 - PAD) / wide))


def put(canvas: Canvas, boxes: Sequence[Box], gap: float = GAP) -> Places:
    """Draw boxes side by side while they fit, else below; tell where cells stand."""
    rows: list[list[Box]] = [[]]
    for box in boxes:
        used = sum(other.width + gap for other in rows[-1])
        if rows[-1] and used + box.width > canvas.room:
            rows.append([])
        rows[-1].append(box)
    places: Places = {}
    for r, row in enumerate(rows):
        x, top = PAD, canvas.y
        bottom = top + max((box.height for box in row), default=0)
        for n, box in enumerate(row):
            left = x + box.gutter
            right = left + box.cell * len(box.grid.rows[0] if box.grid.rows else ())
            edge, told = x + box.width, bool(box.grid.left_out)
            frame = Frame(box.name, left, right, edge, told, top, bottom, r, n)
            places |= one_box(canvas, box, x, frame)
            x += box.width + gap
        canvas.y = bottom + 18
    return places


def one_box(canvas: Canvas, box: Box, x: float, frame: Frame) -> Places:
    """Draw one grid from `x` on; marked cells come last, above their neighbours."""
    canvas.text(x, frame.top + 13, box.grid.title, "name mono bold", 13)
    wide, left, top = box.cell, frame.left, frame.top + HEAD
    places: Places = {}
    marked = []
    for r, row in enumerate(box.grid.rows):
        middle = top + r * HIGH + HIGH / 2 + SMALL * 0.35
        if box.gutter:
            at = str(row[0].index[-2])
            canvas.text(left - 5, middle, at, "soft mono", SMALL, "end")
        for c, one in enumerate(row):
            place = Place(left + c * wide, top + r * HIGH, wide, frame)
            places[box.name, one.index] = place
            if r == 0 and one.index:
                at, mid = str(one.index[-1]), place.x + wide / 2
                canvas.text(mid, top - 5, at, "soft mono", SMALL, "middle")
            if one.index in box.kinds:
                marked.append((place, one))
            else:
                canvas.box(place.x, place.y, wide, HIGH, "cell", 0)
                value(canvas, place, one.text)
    for place, one in marked:
        canvas.box(place.x, place.y, wide, HIGH, box.kinds[one.index])
        value(canvas, place, one.text, "text mono bold")
    end = top + len(box.grid.rows) * HIGH + 4
    for n, text in enumerate(box.grid.left_out):
        canvas.text(x, end + 12 + 16 * n, f"… {text}", "soft mono", 11)
    return places


def value(canvas: Canvas, place: Place, text: str, kinds: str = "text mono") -> None:
    """A cell's value, in its middle."""
    base = place.y + HIGH / 2 + 4.2
    canvas.text(place.x + place.width / 2, base, text, kinds, 12, "middle")


# -- arrows ----------------------------------------------------------------------------

Point = tuple[float, float]
INSET = 3.0
"""How far inside its cell an arrow starts and ends: arrows of neighbours stay apart."""


def arrow(canvas: Canvas, start: Place, end: Place) -> None:
    """From one cell to another along the lines between cells, over no value."""
    points = way(start, end)
    line = rounded(points)
    canvas.path(line, "halo")
    canvas.path(line, "arrow")
    (x0, y0), (x1, y1) = points[0], points[-1]
    canvas.path(f"M{x0 - 3:g} {y0:g}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", "head")
    canvas.path(f"M{x1:g} {y1:g}l-8 -4v8z", "head")


def way(start: Place, end: Place) -> list[Point]:
    """The corners that an arrow passes."""
    one, other = start.frame, end.frame
    if one.row == other.row:
        above = start.y > end.y
        x0, y0 = start.end, start.y + INSET if above else start.foot - INSET
        x1, y1 = end.x, end.foot - INSET if start.y >= end.y else end.y + INSET
        turn = other.left - PAD
        if one.number + 1 == other.number:
            return [(x0, y0), (turn, y0), (turn, y1), (x1, y1)]
        out, lane = one.edge + 8, one.bottom + 6
        return [(x0, y0), (out, y0), (out, lane), (turn, lane), (turn, y1), (x1, y1)]
    # Below: along the gap between the rows, and in from the left of the other grid.
    lane = one.bottom + 6
    x0, y0 = start.end - INSET, start.foot
    down = [(x0, y0), (x0, lane)]
    if one.told:  # beside the text below the cells, not through it
        x0, y0 = start.end, start.foot - INSET
        down = [(x0, y0), (one.edge + 8, y0), (one.edge + 8, lane)]
    turn, side, y1 = max(8.0, other.left - PAD), PAD / 2, end.y + INSET
    way_in = [(turn, y1), (end.x, y1)]
    if one.row + 1 == other.row or abs(turn - side) < 8:
        return [*down, (turn, lane), *way_in]
    low = other.top - 6
    return [*down, (side, lane), (side, low), (turn, low), *way_in]


def rounded(points: Sequence[Point], radius: float = 7) -> str:
    """A path through corners that are rounded."""
    data = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = towards(corner, before, radius), towards(corner, after, radius)
        data += f"L{near[0]:g} {near[1]:g}Q{corner[0]:g} {corner[1]:g} "
        data += f"{far[0]:g} {far[1]:g}"
    return f"{data}L{points[-1][0]:g} {points[-1][1]:g}"


def towards(corner: Point, other: Point, far: float) -> Point:
    """A point on the way from a corner, at most half of it away."""
    (x, y), (to_x, to_y) = corner, other
    length = abs(to_x - x) + abs(to_y - y)
    part = min(far, length / 2) / length if length else 0
    return round(x + (to_x - x) * part, 1), round(y + (to_y - y) * part, 1)
