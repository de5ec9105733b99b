"""An operator call as one self-contained SVG: the terminal's content, and arrows."""

from __future__ import annotations

from itertools import product
from math import inf

from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.views.drawing.call_sections import told_beside
from shapewright.views.drawing.grids import Index, at, grid, plane, widest
from shapewright.views.drawing.index_map_text import (
    Followed,
    follow,
    formulas,
    loop,
    told_of_sizes,
    without_values,
)
from shapewright.views.drawing.svg_canvas import (
    MONO,
    PAD,
    SANS,
    Box,
    Canvas,
    arrow,
    columns_that_fit,
    put,
)
from shapewright.views.drawing.text_page import (
    checked,
    explained_maps,
    joined,
    of_which,
    read_out,
    sides,
    told_of_storage,
)

WIDTH = 760.0
MOST_ARROWS = 12
"""Reads up to which each has its arrow."""


def svg(drawn: Drawn, width: float = WIDTH) -> str:
    """Return the whole drawing of a call."""
    canvas = Canvas(max(width, 240))
    told = paint(canvas, drawn)
    return canvas.page(drawn.text or drawn.name, told or "shapes only")


def paint(canvas: Canvas, drawn: Drawn, titled: bool = True) -> str:
    """Draw a call below the current content; return its content in words."""
    if titled:
        canvas.lines([drawn.text or drawn.name], "text mono bold", 15, after=6)
    canvas.lines(sides(drawn), after=10)
    canvas.lines(drawn.notes, "soft sans", 12, after=10 if drawn.notes else 0)
    told = ""
    if drawn.error:
        canvas.lines(list(drawn.refusal), "text mono", 13)
        canvas.lines([f"torch: {drawn.error}"], "error sans bold", 13)
        told = f"torch: {drawn.error}"
    elif drawn.reason:
        told = f"not drawn: {drawn.reason}"
        canvas.lines([told], "soft sans", 13)
    if drawn.maps:
        told = _of_maps(canvas, drawn)
    canvas.lines(told_beside(drawn), "soft mono", 12)
    if drawn.maps:
        canvas.lines([checked(drawn)], "soft sans", 12)
    return told


def _of_maps(canvas: Canvas, drawn: Drawn) -> str:
    """Draw sentence, picture, formula and storage; return their content in words."""
    every = explained_maps(drawn)
    sentences = list(dict.fromkeys(one.sentence for one, _ in every if one.sentence))
    canvas.lines(sentences, "text sans", 14, after=14)
    followed = follow(drawn)
    if followed is None:
        said = without_values(drawn)
        canvas.lines([said], "soft sans", 13)
    else:
        parts = read_out(drawn, followed)
        said = " ".join(parts)
        _picture(canvas, followed)
        most = int(canvas.room / (12 * MONO))
        canvas.lines(joined(parts, most), "text mono", 12, after=2)
        canvas.lines(of_which(drawn), "soft sans", 12, after=12)
    known: set[str] = set()
    for one, side in every:
        above = formulas(one, side.name, known)
        _panel(canvas, above, loop(one, side.name, known))
        known |= {stage.name for stage in one.stages}
    canvas.lines([*told_of_sizes(drawn), *told_of_storage(drawn)], "soft mono", 12)
    return " ".join([*sentences, said])


def _panel(canvas: Canvas, above: list[str], below: list[str]) -> None:
    """Draw the formula, and the loop below it, on a panel."""
    inner = Canvas(canvas.width - 12, canvas.y + 6)
    inner.lines(above, "text mono bold", 13, PAD + 12, after=6)
    inner.lines(below, "soft mono", 12, PAD + 12, after=6)
    height = inner.y - canvas.y
    canvas.box(PAD, canvas.y, canvas.room, height, "panel frame", 6)
    canvas.parts += inner.parts
    canvas.y += height + 10


def _picture(canvas: Canvas, followed: Followed) -> None:
    """Draw grids of all tensors, and arrows from the elements read to the marked
    output."""
    reads = set(followed.found)
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
    kinds.append((followed.out, {followed.index: "out"}))
    boxes = [
        Box(side.name, grid(side, list(mine), most), _forbidden(side) | mine)
        for (side, mine), most in zip(kinds, _columns(canvas.room, kinds), strict=True)
    ]
    places = put(canvas, boxes)
    end = places.get((followed.out.name, followed.index))
    if end is not None and len(reads) <= MOST_ARROWS:
        for read in followed.found:
            if read in places:
                arrow(canvas, places[read], end)
    _legend(canvas, list(dict.fromkeys(k for box in boxes for k in box.kinds.values())))


def _forbidden(side: Side) -> dict[Index, str]:
    """Return the scores of an attention that a mask leaves out, marked as such."""
    if side.name != "allowed":
        return {}
    places = product(*map(range, side.shape))
    return {place: "off" for place in places if at(side.values, place) == -inf}


def _columns(room: float, every: list[tuple[Side, dict[Index, str]]]) -> list[int]:
    """Return how many columns of each tensor are shown, equal for all that are cut.

    Tensors with marks farther apart, such as a window's, show more if there is room.
    """
    wide = [plane(side.shape)[1] for side, _ in every]
    most = [
        columns_that_fit(widest(side, marks), count, room)
        for (side, marks), count in zip(every, wide, strict=True)
    ]
    cut = min(
        (few for few, count in zip(most, wide, strict=True) if few < count), default=0
    )
    spans = [
        max((at[-1] for at in marks if at), default=0)
        - min((at[-1] for at in marks if at), default=0)
        for _, marks in every
    ]
    return [
        few if few == count else min(few, max(cut, span + 2))
        for few, count, span in zip(most, wide, spans, strict=True)
    ]


WORDS = {
    "read": "read",
    "where": "decides where",
    "way": "read on the way",
    "out": "comes out",
    "off": "not allowed",
}


def _legend(canvas: Canvas, kinds: list[str]) -> None:
    """Draw the meaning of fill and outline."""
    x = PAD
    for kind in kinds:
        canvas.box(x, canvas.y, 16, 12, kind)
        canvas.text(x + 22, canvas.y + 10, WORDS[kind], "soft sans", 11)
        x += 22 + len(WORDS[kind]) * 11 * SANS + 22
    canvas.y += 22
