"""One tensor as text and as SVG: its grid, and the storage that it looks at."""

from __future__ import annotations

from textwrap import wrap

from shapewright.rules.maps.stored import Stored
from shapewright.views.lab.boxes import Box, cell_width, put
from shapewright.views.lab.canvas import PAD, Canvas
from shapewright.views.lab.costs import tensor_costs
from shapewright.views.lab.grid import BOXES, Strokes, boxed, grid, widest
from shapewright.views.lab.ink import ink
from shapewright.views.lab.layout import cells, facts, legend, most_characters


def text_of_tensor(stored: Stored, width: int = 80, strokes: Strokes = BOXES) -> str:
    """The page in the terminal."""
    side = stored.side
    parts = [[ink(title(stored), "title", strokes.colour)]]
    if stored.reason:
        parts.append(wrap(f"values are not shown: {stored.reason}", width))
    if side.values is not None:
        most = max(1, (width - 4) // (widest(side) + 2))
        parts.append(boxed(grid(side, [], most), strokes))
    parts.append([line for fact in facts(stored) for line in wrap(fact, width)])
    parts.append([line for cost in tensor_costs(stored) for line in wrap(cost, width)])
    row = cells(stored, (width - 4) // (most_characters(stored) + 2))
    if row is not None:
        parts.append([*boxed(row, strokes), ink(legend(stored), "dim", strokes.colour)])
    lines = "\n\n".join("\n".join(line.rstrip() for line in p) for p in parts if p)
    return f"{lines.rstrip()}\n"


def svg_of_tensor(stored: Stored, width: float = 760) -> str:
    """The page as SVG."""
    canvas = Canvas(max(width, 240))
    side = stored.side
    canvas.lines([title(stored)], "text mono bold", 15)
    if stored.reason:
        canvas.lines([f"values are not shown: {stored.reason}"], "soft sans", 13)
    if side.values is not None:
        most = max(1, int((canvas.room - PAD) / cell_width(widest(side))))
        put(canvas, [Box(side.name, grid(side, [], most), {})])
    row = cells(stored, int((canvas.room - PAD) / cell_width(most_characters(stored))))
    if row is not None:
        every = [one for line in row.rows for one in line]
        kinds = {one.index: "read" for one in every if one.marked}
        put(canvas, [Box("storage", row, kinds)])
        canvas.y -= 10
        canvas.lines([legend(stored)], "soft sans", 12)
    canvas.lines([*facts(stored), *tensor_costs(stored)], after=14)
    said = " ".join([f"{side.shape_text} {side.dtype}.", *facts(stored)])
    return canvas.page(title(stored), said)


def title(stored: Stored) -> str:
    """Name, shape and dtype."""
    return f"{stored.side.name}  {stored.side.shape_text} {stored.side.dtype}"
