"""A chain of calls: a row for each step with its strides, then each step drawn.

Strides tell why a later step is free or copies, so they come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapewright.index_maps.drawn_calls import Drawn, Side
from shapewright.views.drawing.grids import Strokes, add_ink
from shapewright.views.drawing.svg_canvas import Canvas
from shapewright.views.drawing.svg_page import paint_call
from shapewright.views.drawing.text_page import format_page


def format_chain(
    steps: Sequence[Drawn], width: int, strokes: Strokes, inside: bool = False
) -> str:
    """Return the steps of a chain such as ``x.view(2, 8, 4).transpose(1, 2)``."""
    title = add_ink(steps[-1].text, "title", strokes.colour)
    pages = [format_page(step, width, strokes, inside) for step in steps]
    head = "\n".join([title, "", *(f"  {row}" for row in _format_rows(steps))])
    return "\n\n".join([head, *pages])


def draw_chain_svg(steps: Sequence[Drawn], width: float) -> str:
    """Return the steps of a chain as one SVG, one below the other."""
    canvas = Canvas(max(width, 240))
    title = steps[-1].text
    canvas.lines([title], "text mono bold", 15, after=6)
    canvas.lines(_format_rows(steps), "text mono", after=14)
    descriptions = []
    for step in steps:
        canvas.rule()
        descriptions.append(paint_call(canvas, step))
        canvas.y += 6
    return canvas.page(title, " ".join(filter(None, descriptions)))


def _format_rows(steps: Sequence[Drawn]) -> list[str]:
    """Return the rows of the steps as lines of equal columns."""
    rows = _list_rows(steps)
    wide = [max(len(row[n]) for row in rows) for n in range(3)]
    return [
        "  ".join(
            cell.ljust(size) for cell, size in zip(row, (*wide, 0), strict=True)
        ).rstrip()
        for row in rows
    ]


def _list_rows(steps: Sequence[Drawn]) -> list[tuple[str, str, str, str]]:
    """Return what each step is, the shape and strides of its result, and its effect."""
    rows = []
    before = ""
    first = steps[0]
    if first.inputs and first.name.startswith("torch.Tensor."):
        before = first.text.split(".", 1)[0]
        rows.append((before, *_describe_side(first.inputs[0]), ""))
    for step in steps:
        inner, before = before, step.text
        written = step.text.removeprefix(inner) if inner else step.text
        if step.error or not step.outputs:
            rows.append((written, "refused" if step.error else "", "", ""))
            continue
        out = step.outputs[0]
        effect = "a view" if out.shares else "new storage"
        rows.append((written, *_describe_side(out), effect))
    return rows


def _describe_side(side: Side) -> tuple[str, str]:
    """Return the shape and the strides of a tensor."""
    strides = ", ".join(map(str, side.stride))
    return side.shape_text, f"strides ({strides})"
