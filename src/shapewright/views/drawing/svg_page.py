"""An operator call as one self-contained SVG: the terminal's content, and arrows."""

from __future__ import annotations

from itertools import product
from math import inf

from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.views.drawing.call_sections import format_page_lines
from shapewright.views.drawing.followed_elements import (
    Followed,
    explain_missing_values,
    follow,
)
from shapewright.views.drawing.grids import (
    Axes,
    Index,
    build_grid,
    get_element,
    get_plane,
    get_widest,
)
from shapewright.views.drawing.index_map_text import (
    describe_sizes,
    format_formulas,
    format_loop,
)
from shapewright.views.drawing.refused_calls import build_refused_grids
from shapewright.views.drawing.svg_canvas import (
    MONO,
    PAD,
    SANS,
    Box,
    Canvas,
    Places,
    count_fitting_columns,
    draw_arrow,
    put,
)
from shapewright.views.drawing.text_page import (
    describe_checks,
    describe_pictured_output,
    describe_storage,
    find_explained_maps,
    format_sides,
    join_parts,
    read_out,
)

WIDTH = 760.0
MOST_ARROWS = 12
"""Reads up to which each has its arrow."""


def draw_svg(drawn: Drawn, width: float = WIDTH) -> str:
    """Return the whole drawing of a call."""
    canvas = Canvas(max(width, 240))
    description = paint_call(canvas, drawn)
    return canvas.page(drawn.text or drawn.name, description or "shapes only")


def paint_call(canvas: Canvas, drawn: Drawn, titled: bool = True) -> str:
    """Draw a call below the current content, and return its content as text."""
    if titled:
        canvas.lines([drawn.text or drawn.name], "text mono bold", 15, after=6)
    canvas.lines(format_sides(drawn), after=10)
    scheme = any("  " in note for note in drawn.notes)
    style = "text mono" if scheme else "soft sans"
    canvas.lines(drawn.notes, style, 12, after=10 if drawn.notes else 0)
    description = ""
    if drawn.error:
        canvas.lines(list(drawn.refusal), "text mono", 13)
        _draw_refused(canvas, drawn)
        canvas.lines([f"torch: {drawn.error}"], "error sans bold", 13)
        description = f"torch: {drawn.error}"
    elif drawn.reason:
        description = f"not drawn: {drawn.reason}"
        canvas.lines([description], "soft sans", 13)
    if drawn.maps:
        description = _draw_maps(canvas, drawn)
    canvas.lines(format_page_lines(drawn, inside=False), "soft mono", 12)
    if drawn.maps:
        canvas.lines([describe_checks(drawn)], "soft sans", 12)
    return description


def _draw_maps(canvas: Canvas, drawn: Drawn) -> str:
    """Draw sentence, picture, formula and storage, and return their content as text."""
    every = find_explained_maps(drawn)
    sentences = list(
        dict.fromkeys(
            index_map.sentence for index_map, _ in every if index_map.sentence
        )
    )
    canvas.lines(sentences, "text sans", 14, after=14)
    followed = follow(drawn)
    if followed is None:
        text = explain_missing_values(drawn)
        canvas.lines([text], "soft sans", 13)
    else:
        parts = read_out(drawn, followed)
        text = " ".join(parts)
        _draw_picture(canvas, followed)
        most = int(canvas.room / (12 * MONO))
        canvas.lines(join_parts(parts, most), "text mono", 12, after=2)
        canvas.lines(describe_pictured_output(drawn), "soft sans", 12, after=12)
    known: set[str] = set()
    for index_map, side in every:
        above = format_formulas(index_map, side.name, known)
        _draw_panel(canvas, above, format_loop(index_map, side.name, known))
        known |= {stage.name for stage in index_map.stages}
    canvas.lines([*describe_sizes(drawn), describe_storage(drawn)[-1]], "soft mono", 12)
    return " ".join([*sentences, text])


def _draw_panel(canvas: Canvas, above: list[str], below: list[str]) -> None:
    """Draw the formula on a panel, with the loop below it."""
    inner = Canvas(canvas.width - 12, canvas.y + 6)
    inner.lines(above, "text mono bold", 13, PAD + 12, after=6)
    inner.lines(below, "soft mono", 12, PAD + 12, after=6)
    height = inner.y - canvas.y
    canvas.box(PAD, canvas.y, canvas.room, height, "panel frame", 6)
    canvas.parts += inner.parts
    canvas.y += height + 10


def _draw_picture(canvas: Canvas, followed: Followed) -> None:
    """Draw grids of all tensors, and arrows from the elements read to the marked
    output."""
    reads, axes = set(followed.found), followed.axes
    if followed.partner is not None:
        reads |= {(name, followed.index) for name, _ in followed.found}
    named = {name for name, _ in reads}
    # A tensor that only decides where to read comes first: no arrow passes it.
    marks = sorted(
        followed.marks[:-1], key=lambda pair: not pair[1] or pair[0].name in named
    )
    rest = "way" if followed.staged else "where"
    kinds: list[tuple[Side, dict[Index, str]]] = [
        (side, {at: "read" if (side.name, at) in reads else rest for at in marked})
        for side, marked in marks
    ]
    kinds.append((followed.out, dict.fromkeys(followed.marks[-1][1], "out")))
    boxes = [
        Box(
            side.name,
            build_grid(side, list(mine), most, axes),
            _find_forbidden(side) | mine,
        )
        for (side, mine), most in zip(
            kinds, _count_columns(canvas.room, kinds, axes), strict=True
        )
    ]
    places = put(canvas, boxes)
    end = places.get((followed.out.name, followed.index))
    if end is not None and len(reads) <= MOST_ARROWS:
        for read in followed.found:
            if read in places:
                draw_arrow(canvas, places[read], end)
        if followed.partner is not None:
            _draw_arrow_back(canvas, followed, places)
    _draw_legend(
        canvas, list(dict.fromkeys(k for box in boxes for k in box.kinds.values()))
    )


def _draw_arrow_back(canvas: Canvas, followed: Followed, places: Places) -> None:
    """Draw the arrow of the element that changes places with the followed one."""
    assert followed.partner is not None
    end = places.get((followed.out.name, followed.partner))
    for name, _ in followed.found:
        start = places.get((name, followed.index))
        if start is not None and end is not None:
            draw_arrow(canvas, start, end)


def _draw_refused(canvas: Canvas, drawn: Drawn) -> None:
    """Draw the tensors with parts that do not fit."""

    def fit(wide: int, count: int) -> int:
        return count_fitting_columns(wide, count, canvas.room)

    boxes = []
    for grid in build_refused_grids(drawn, fit):
        cells = [cell for row in grid.rows for cell in row]
        kinds = {cell.index: "over" for cell in cells if cell.marked}
        kinds |= {cell.index: "missing" for cell in cells if cell.missing}
        boxes.append(Box(grid.title, grid, kinds))
    if boxes:
        put(canvas, boxes)
        _draw_legend(
            canvas, list(dict.fromkeys(k for box in boxes for k in box.kinds.values()))
        )


def _find_forbidden(side: Side) -> dict[Index, str]:
    """Return the scores of an attention that a mask excludes, marked as such."""
    if side.name != "allowed":
        return {}
    places = product(*map(range, side.shape))
    return {place: "off" for place in places if get_element(side.values, place) == -inf}


def _count_columns(
    room: float, every: list[tuple[Side, dict[Index, str]]], axes: Axes
) -> list[int]:
    """Return how many columns of each tensor are shown, equal for all that are cut.

    Tensors with marks farther apart, such as a window's, show more if there is room.
    """
    wide = [get_plane(side.shape, axes)[1] for side, _ in every]
    most = [
        count_fitting_columns(get_widest(side, marks, axes), count, room)
        for (side, marks), count in zip(every, wide, strict=True)
    ]
    cut = min(
        (few for few, count in zip(most, wide, strict=True) if few < count), default=0
    )
    spans = [
        max((_get_column(at, axes) for at in marks if at), default=0)
        - min((_get_column(at, axes) for at in marks if at), default=0)
        for _, marks in every
    ]
    return [
        few if few == count else min(few, max(cut, span + 2))
        for few, count, span in zip(most, wide, spans, strict=True)
    ]


def _get_column(index: Index, axes: Axes) -> int:
    """Return the column of an element in the slice that is drawn."""
    return index[axes[1]] if len(index) > 1 else index[0]


WORDS = {
    "read": "read",
    "where": "decides where",
    "way": "read on the way",
    "out": "comes out",
    "off": "not allowed",
    "over": "has no counterpart",
    "missing": "is missing",
}


def _draw_legend(canvas: Canvas, kinds: list[str]) -> None:
    """Draw a legend for fill and outline."""
    x = PAD
    for kind in kinds:
        canvas.box(x, canvas.y, 16, 12, kind)
        canvas.text(x + 22, canvas.y + 10, WORDS[kind], "soft sans", 11)
        x += 22 + len(WORDS[kind]) * 11 * SANS + 22
    canvas.y += 22
