"""An SVG page that grows downwards, with grids as boxes and arrows between them.

Classes carry the colours, so that light and dark are one drawing. No ids are used:
several drawings may stand in one notebook.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import wrap

from shapewright.views.drawing.grids import Grid, Index

PAD = 20.0
MONO = 0.605
"""A monospaced character's width, as a part of its height."""
SANS = 0.53
"""The mean of a proportional font, on the wide side."""

COLOURS = {
    "back": ("#ffffff", "#0d1117"), "panel": ("#f6f8fa", "#161b22"),
    "line": ("#d0d7de", "#3d444d"), "text": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#9198a1"), "name": ("#0550ae", "#79c0ff"),
    "read": ("#0969da", "#58a6ff"), "read-fill": ("#ddf4ff", "#0c2d6b"),
    "out": ("#1a7f37", "#3fb950"), "out-fill": ("#dafbe1", "#04371a"),
    "where": ("#9a6700", "#d29922"), "where-fill": ("#fff8c5", "#3b2a04"),
    "off": ("#d8dee4", "#30363d"), "error": ("#cf222e", "#ff7b72"),
}  # fmt: skip
"""The light and the dark value of each colour."""

PAINT = (
    ("back", "fill", "back"), ("panel", "fill", "panel"), ("text", "fill", "text"),
    ("soft", "fill", "soft"), ("name", "fill", "name"), ("error", "fill", "error"),
    ("shape", "fill", "out"), ("warning", "fill", "where"),
    ("frame", "stroke", "line"), ("cell", "fill", "back"), ("cell", "stroke", "line"),
    ("read", "fill", "read-fill"), ("read", "stroke", "read"),
    ("out", "fill", "out-fill"), ("out", "stroke", "out"),
    ("where", "fill", "where-fill"), ("where", "stroke", "where"),
    ("way", "fill", "where-fill"), ("way", "stroke", "where"),
    ("off", "fill", "off"), ("off", "stroke", "line"),
    ("over", "fill", "back"), ("over", "stroke", "error"),
    ("missing", "fill", "panel"), ("missing", "stroke", "error"),
    ("halo", "stroke", "back"), ("arrow", "stroke", "read"), ("head", "fill", "read"),
)  # fmt: skip
"""The classes, with the property and the colour that each sets."""

FORMS = """
.sw-mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',
monospace;white-space:pre}
.sw-sans{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif}
.sw-bold{font-weight:600}
.sw-cell,.sw-frame{stroke-width:1}
.sw-read,.sw-out{stroke-width:2.5}
.sw-where{stroke-width:2;stroke-dasharray:4 2}
.sw-way{stroke-width:2;stroke-dasharray:4 2}
.sw-over{stroke-width:2.5}
.sw-missing{stroke-width:1;stroke-dasharray:2 3}
.sw-halo{fill:none;stroke-width:4.5;stroke-opacity:.75}
.sw-arrow{fill:none;stroke-width:1.6}
"""


def style(night: bool = False) -> str:
    """Return the colours of all classes, light or dark."""
    rules = (f".sw-{name}{{{key}:{COLOURS[colour][night]}}}"
             for name, key, colour in PAINT)  # fmt: skip
    return "\n".join(rules)


SHEET = (
    f"{FORMS}{style()}\n@media (prefers-color-scheme:dark){{\n{style(night=True)}\n}}\n"
)

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _escape_text(text: str) -> str:
    """Escape text for XML, and replace characters that XML does not allow."""
    return escape(_UNPRINTABLE.sub("\ufffd", text), quote=True)


@dataclass(slots=True)
class Canvas:
    """The elements drawn so far, and the current height."""

    width: float = 760
    y: float = PAD
    parts: list[str] = field(default_factory=list)

    @property
    def room(self) -> float:
        """Return the width between the margins."""
        return self.width - 2 * PAD

    def text(
        self, x: float, y: float, text: str, kinds: str = "text mono", size: float = 12,
        anchor: str = "",
    ) -> None:  # fmt: skip
        """Draw a line of text with its baseline at `y`."""
        at = f' text-anchor="{anchor}"' if anchor else ""
        if "  " in text or text[:1] == " ":
            at += ' xml:space="preserve"'
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{at}'
            f' class="{_get_css(kinds)}">{_escape_text(text)}</text>'
        )

    def segments(
        self, x: float, y: float, parts: Iterable[tuple[str, str]], size: float = 12
    ) -> None:
        """Draw a line of monospaced text whose parts have classes of their own."""
        spans = "".join(
            f'<tspan class="{_get_css(kinds)}">{_escape_text(text)}</tspan>'
            for text, kinds in parts
        )
        if spans:
            self.parts.append(
                f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" xml:space="preserve"'
                f' class="sw-mono">{spans}</text>'
            )

    def box(
        self, x: float, y: float, width: float, height: float, kinds: str,
        radius: float = 2,
    ) -> None:  # fmt: skip
        """Draw a rectangle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius:g}" class="{_get_css(kinds)}"/>'
        )

    def path(self, data: str, kinds: str) -> None:
        """Draw a path."""
        self.parts.append(f'<path d="{data}" class="{_get_css(kinds)}"/>')

    def rule(self) -> None:
        """Draw a line across the page, and leave some room below it."""
        self.path(f"M{PAD:g} {self.y:g}H{self.width - PAD:g}", "frame")
        self.y += 8

    def lines(
        self, texts: Iterable[str], kinds: str = "text mono", size: float = 12,
        x: float = PAD, after: float = 12,
    ) -> None:  # fmt: skip
        """Draw text below the current content, wrapped at the margin."""
        part = MONO if "mono" in kinds else SANS
        most = max(8, int((self.width - PAD - x) / (part * size)))
        for text in texts:
            for line in _wrap_text(text, most, hanging="mono" in kinds):
                self.y += round(size * 1.5)
                self.text(x, self.y - size * 0.4, line, kinds, size)
        self.y += after

    def page(self, title: str, description: str) -> str:
        """Return the whole document at its final height."""
        height = round(self.y + PAD - 12)
        back = Canvas(self.width)
        back.box(0.5, 0.5, self.width - 1, height - 1, "back frame", 8)
        return (
            f"{MARK}\n"
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" '
            f'height="{height}" viewBox="0 0 {self.width:g} {height}" role="img" '
            'style="max-width:100%;height:auto">'
            f"<title>{_escape_text(title)}</title><desc>{_escape_text(description)}</desc>"
            f"<style>{SHEET}</style>\n"
            + "\n".join([*back.parts, *self.parts])
            + "\n</svg>\n"
        )


MARK = "<!-- shapewright explain -->"
"""The beginning of our SVGs."""


def _get_css(kinds: str) -> str:
    """Return our names of classes, which no surrounding page uses."""
    return " ".join(f"sw-{kind}" for kind in kinds.split())


def _wrap_text(text: str, most: int, hanging: bool = False) -> list[str]:
    """Return lines of at most `most` characters; in code, later lines are indented."""
    if len(text) <= most:
        return [text]
    deeper = len(text) - len(text.lstrip()) + 4
    indent = " " * min(deeper, most // 2) if hanging else ""
    return wrap(text, most, subsequent_indent=indent, break_on_hyphens=False) or [""]


HIGH = 24.0
"""A cell's height."""
HEAD = 38.0
"""The room above the cells: title and column numbers."""
GAP = 40.0
SMALL = 10.0


@dataclass(frozen=True, slots=True)
class _Frame:
    """The place of a grid's cells: its sides, and the row of grids it is in.

    `edge` is the right side of everything that belongs to it, title and texts too;
    `told` is whether a text stands below its cells.
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
class _Place:
    """The place of a cell on the page."""

    x: float
    y: float
    width: float
    frame: _Frame

    @property
    def end(self) -> float:
        """Return the right edge of the cell."""
        return self.x + self.width

    @property
    def foot(self) -> float:
        """Return the lower edge of the cell."""
        return self.y + HIGH


Places = dict[tuple[str, Index], _Place]


@dataclass(frozen=True, slots=True)
class Box:
    """A grid to be placed; `kinds` are the classes of its marked cells."""

    name: str
    grid: Grid
    kinds: Mapping[Index, str]

    @property
    def cell(self) -> float:
        """Return a cell's width."""
        rows = self.grid.rows
        longest = max((len(cell.text) for row in rows for cell in row), default=1)
        return get_cell_width(longest)

    @property
    def gutter(self) -> float:
        """Return the space for row numbers."""
        if self.grid.is_vector:
            return 0
        last = self.grid.rows[-1][0].index[self.grid.axes[0]]
        return 8 + len(str(last)) * SMALL * MONO

    @property
    def width(self) -> float:
        """Return the width of the grid, including its numbers and texts."""
        columns = len(self.grid.rows[0]) if self.grid.rows else 0
        texts = [len(text) + 2 for text in self.grid.left_out]
        texts += [len(text) for text in self.grid.captions]
        title = len(self.grid.title) * 13 * MONO
        return max(
            self.gutter + columns * self.cell,
            title,
            max(texts, default=0) * 11 * MONO,
        )

    @property
    def height(self) -> float:
        """Return the height of the grid, including its title, numbers and texts."""
        texts = len(self.grid.left_out) + len(self.grid.captions)
        return HEAD + len(self.grid.rows) * HIGH + 4 + 16 * texts


def get_cell_width(characters: int) -> float:
    """Return the width of a cell for a number of characters."""
    return max(HIGH, round(characters * 12 * MONO + 10))


def count_fitting_columns(characters: int, columns: int, room: float) -> int:
    """Return all columns if they fit, else as many as leave room for another grid."""
    wide = get_cell_width(characters)
    if columns * wide + PAD <= room:
        return columns
    return max(1, int(((room - GAP) / 2 - PAD) / wide))


def put(canvas: Canvas, boxes: Sequence[Box], gap: float = GAP) -> Places:
    """Draw boxes side by side while they fit, else below; return all cell positions."""
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
            edge = x + box.width
            has_note = bool(box.grid.left_out or box.grid.captions)
            frame = _Frame(box.name, left, right, edge, has_note, top, bottom, r, n)
            places |= _draw_box(canvas, box, x, frame)
            x += box.width + gap
        canvas.y = bottom + 18
    return places


def _draw_box(canvas: Canvas, box: Box, x: float, frame: _Frame) -> Places:
    """Draw a grid at `x`, with its marked cells last, above their neighbors."""
    canvas.text(x, frame.top + 13, box.grid.title, "name mono bold", 13)
    wide, left, top = box.cell, frame.left, frame.top + HEAD
    places: Places = {}
    marked = []
    for r, row in enumerate(box.grid.rows):
        middle = top + r * HIGH + HIGH / 2 + SMALL * 0.35
        if box.gutter:
            at = str(row[0].index[box.grid.axes[0]])
            canvas.text(left - 5, middle, at, "soft mono", SMALL, "end")
        for c, cell in enumerate(row):
            place = _Place(left + c * wide, top + r * HIGH, wide, frame)
            places[box.name, cell.index] = place
            if r == 0 and cell.index:
                at, mid = str(cell.index[box.grid.axes[1]]), place.x + wide / 2
                canvas.text(mid, top - 5, at, "soft mono", SMALL, "middle")
            if cell.index in box.kinds:
                marked.append((place, cell))
            else:
                canvas.box(place.x, place.y, wide, HIGH, "cell", 0)
                _draw_value(canvas, place, cell.text)
    for place, cell in marked:
        canvas.box(place.x, place.y, wide, HIGH, box.kinds[cell.index])
        _draw_value(canvas, place, cell.text, "text mono bold")
    end = top + len(box.grid.rows) * HIGH + 4
    texts = [(text, "error mono bold") for text in box.grid.captions]
    texts += [(f"… {text}", "soft mono") for text in box.grid.left_out]
    for n, (text, kinds) in enumerate(texts):
        canvas.text(x, end + 12 + 16 * n, text, kinds, 11)
    return places


def _draw_value(
    canvas: Canvas, place: _Place, text: str, kinds: str = "text mono"
) -> None:
    """Draw a cell's value in its middle."""
    base = place.y + HIGH / 2 + 4.2
    canvas.text(place.x + place.width / 2, base, text, kinds, 12, "middle")


# -- arrows ----------------------------------------------------------------------------

Point = tuple[float, float]
INSET = 3.0
"""How far inside its cell an arrow starts and ends: arrows of neighbours stay apart."""


def draw_arrow(canvas: Canvas, start: _Place, end: _Place) -> None:
    """Draw an arrow between cells, which runs between cells and crosses no value."""
    points = _find_corners(start, end)
    line = _round_corners(points)
    canvas.path(line, "halo")
    canvas.path(line, "arrow")
    (x0, y0), (x1, y1) = points[0], points[-1]
    canvas.path(f"M{x0 - 3:g} {y0:g}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", "head")
    canvas.path(f"M{x1:g} {y1:g}l-8 -4v8z", "head")


def _find_corners(start: _Place, end: _Place) -> list[Point]:
    """Return the corners of the path of an arrow."""
    start_frame, end_frame = start.frame, end.frame
    if start_frame.row == end_frame.row:
        above = start.y > end.y
        x0, y0 = start.end, start.y + INSET if above else start.foot - INSET
        x1, y1 = end.x, end.foot - INSET if start.y >= end.y else end.y + INSET
        turn = end_frame.left - PAD
        if start_frame.number + 1 == end_frame.number:
            return [(x0, y0), (turn, y0), (turn, y1), (x1, y1)]
        out, lane = start_frame.edge + 8, start_frame.bottom + 6
        return [(x0, y0), (out, y0), (out, lane), (turn, lane), (turn, y1), (x1, y1)]
    # Below: along the gap between the rows, and in from the left of the other grid.
    lane = start_frame.bottom + 6
    x0, y0 = start.end - INSET, start.foot
    down = [(x0, y0), (x0, lane)]
    if start_frame.told:  # beside the text below the cells, not through it
        x0, y0 = start.end, start.foot - INSET
        down = [(x0, y0), (start_frame.edge + 8, y0), (start_frame.edge + 8, lane)]
    turn, side, y1 = max(8.0, end_frame.left - PAD), PAD / 2, end.y + INSET
    way_in = [(turn, y1), (end.x, y1)]
    if start_frame.row + 1 == end_frame.row or abs(turn - side) < 8:
        return [*down, (turn, lane), *way_in]
    low = end_frame.top - 6
    return [*down, (side, lane), (side, low), (turn, low), *way_in]


def _round_corners(points: Sequence[Point], radius: float = 7) -> str:
    """Return a path with rounded corners."""
    data = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        near, far = (
            _move_towards(corner, before, radius),
            _move_towards(corner, after, radius),
        )
        data += f"L{near[0]:g} {near[1]:g}Q{corner[0]:g} {corner[1]:g} "
        data += f"{far[0]:g} {far[1]:g}"
    return f"{data}L{points[-1][0]:g} {points[-1][1]:g}"


def _move_towards(corner: Point, other: Point, far: float) -> Point:
    """Return a point at distance `far` from a corner, but at most half of the way."""
    (x, y), (to_x, to_y) = corner, other
    length = abs(to_x - x) + abs(to_y - y)
    part = min(far, length / 2) / length if length else 0
    return round(x + (to_x - x) * part, 1), round(y + (to_y - y) * part, 1)
