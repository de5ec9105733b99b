"""``--by line``: the user's own source with the shapes at its right."""

from __future__ import annotations

from collections.abc import Sequence

from shapewright.trace.record import Trace
from shapewright.views.lines import Block, Row, files
from shapewright.views.terminal.paint import Line, Terminal, cells, cut, pad

GUTTER = 7
"""Columns of the line number and the rule."""


def by_line(trace: Trace, terminal: Terminal) -> list[Line]:
    """The functions that ran, file by file, each line with what it made."""
    lines: list[Line] = []
    for blocks in files(trace, terminal.glyphs.arrow):
        widths = _widths(blocks, terminal)
        for block in blocks:
            lines.append([(block.place, "title"), (f"  {block.name}", "dim")])
            lines += [_line(row, widths, terminal) for row in block.rows]
            lines.append([])
    return lines or [[("no line of the program made a tensor", "dim")]]


def _widths(blocks: Sequence[Block], terminal: Terminal) -> list[int]:
    """Columns for code, facts and counts.

    Facts first lose their steps on the way, so that the code stands whole; then the
    code gives way, but keeps half.
    """
    rows = [row for block in blocks for row in block.rows if row is not None]
    code = max((cells(row.code) for row in rows), default=0)
    fact = max((cells(row.wrong or row.fact) for row in rows), default=0)
    least = max((cells(_least(row, terminal)) for row in rows), default=0)
    often = max((len(row.often) for row in rows), default=0)
    free = terminal.width - GUTTER - 2 - (often + 2 if often else 0)
    code = min(code, max(free - least, free // 2))
    return [code, min(fact, free - code), often]


def _least(row: Row, terminal: Terminal) -> str:
    return row.wrong or _shortened(row.fact, 0, terminal)


def _line(row: Row | None, widths: Sequence[int], terminal: Terminal) -> Line:
    glyphs = terminal.glyphs
    if row is None:
        return [(f"{glyphs.gap:>4} {glyphs.rule}", "edge")]
    code, fact, often = widths
    text = pad(cut(row.code, code, glyphs.cut), code)
    made = row.wrong or _shortened(row.fact, fact, terminal)
    style = row.wrong.partition("[")[0] if row.wrong else "shape"
    return [
        (f"{row.number:4} {glyphs.rule} ", "edge"),
        (f"{text}  ", ""),
        (pad(cut(made, fact, glyphs.cut), fact), style),
        (f"  {row.often:>{often}}", "dim"),
    ]


def _shortened(fact: str, width: int, terminal: Terminal) -> str:
    """The fact without its first steps where all do not fit: the result counts."""
    arrow = f" {terminal.glyphs.arrow} "
    rest = short = fact
    while cells(short) > width and arrow in rest:
        rest = rest.partition(arrow)[2]
        short = terminal.glyphs.cut + arrow + rest
    return short
