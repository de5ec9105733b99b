"""Text with the colours of a terminal, taken apart into styles and drawn as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shapewright.views.drawing.svg_canvas import MARK, MONO, PAD, Canvas
from shapewright.views.formatting import CODES, Line, count_cells

_SGR = re.compile("\x1b\\[([0-9;]*)m")

_CLASSES = {
    "bold": "text bold", "title": "text bold", "head": "text bold", "edge": "soft",
    "name": "name", "read": "name", "shape": "shape", "out": "shape",
    "error": "error bold", "mark": "error", "warning": "warning bold",
    "where": "warning", "note": "name bold",
}  # fmt: skip
"""The classes of an SVG for the styles of a terminal; plain text has `text`."""

SIZE = 12.0


def split_painted_text(text: str) -> list[Line]:
    """Return lines of segments with their styles, from text with SGR codes.

    Example: ``"\x1b[32mf32[8]\x1b[0m  x"`` is ``[[("f32[8]", "shape"), ("  x", "")]]``.
    """
    styles: dict[str, str] = {}
    for style, code in CODES.items():
        styles.setdefault(code, style)
    lines: list[Line] = [[]]
    style = ""
    for number, piece in enumerate(_SGR.split(text)):
        if number % 2:
            style = styles.get(piece, "") if piece not in ("", "0") else ""
            continue
        first, *others = piece.split("\n")
        if first:
            lines[-1].append((first, style))
        lines += [[(part, style)] if part else [] for part in others]
    return lines


def draw_painted_text(title: str, text: str) -> str:
    """Return a page of text as one self-contained SVG, for light and dark."""
    lines = split_painted_text(text.rstrip())
    widest = max(sum(count_cells(part) for part, _ in line) for line in lines)
    canvas = Canvas(round(widest * SIZE * MONO + 2 * PAD))
    for line in lines:
        canvas.y += round(SIZE * 1.5)
        parts = [(part, _CLASSES.get(style, "text")) for part, style in line]
        canvas.segments(PAD, canvas.y - SIZE * 0.4, parts, SIZE)
    canvas.y += SIZE
    return canvas.page(title, "".join(part for part, _ in lines[0]))


_HEAD = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"')
GAP = 12.0
"""Pixels between two pictures of one file."""


def stack_pictures(pictures: Sequence[str]) -> str:
    """Return several of our SVGs as one, one below the other."""
    parts, wide, y = [], 0.0, 0.0
    for picture in pictures:
        head = _HEAD.search(picture)
        assert head is not None
        inner = picture[head.start() :].replace("<svg ", f'<svg y="{y:g}" ', 1)
        parts.append(inner.rstrip())
        wide = max(wide, float(head[1]))
        y += float(head[2]) + GAP
    high = y - GAP
    return (
        f'{MARK}\n<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" '
        f'height="{high:g}" viewBox="0 0 {wide:g} {high:g}" role="img">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
