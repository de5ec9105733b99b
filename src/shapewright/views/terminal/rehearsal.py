"""What `rehearse` found, and the story of the run, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapewright.views import units
from shapewright.views.glyphs import ASCII, UNICODE
from shapewright.views.story import Row, rows
from shapewright.views.terminal import report as reports
from shapewright.views.terminal.paint import Line, Terminal, cells, cut, lower, pad

if TYPE_CHECKING:
    from shapewright.trace.report import Report

GUTTER = 7
"""Columns of the line number and the rule."""


def text(
    report: Report,
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
) -> str:
    """The story, then the findings."""
    terminal = Terminal(max(width or 100, 40), colour, UNICODE if unicode else ASCII)
    lines = [*head(report), [], *story(report, terminal)]
    found = reports.text(report, width, colour, unicode)
    return lower(lines, colour) + "\n" + found


def head(report: Report) -> list[Line]:
    """What was run, on what, how long."""
    told = report.rehearsal
    if told is None:
        return [[(f"{report.target} did not run", "error")]]
    command = " ".join([report.target, *told.arguments])
    steps = units.plural(told.steps, "optimizer step")
    done = f"  on {told.device}: {steps} in {told.seconds:.1f} s, with no data"
    return [[(command, "title"), (done, "dim")]]


def story(report: Report, terminal: Terminal) -> list[Line]:
    """The lines that made the run, each with what came of it."""
    told = report.rehearsal
    if told is None:
        return []
    found = rows(told.story, report.trace)
    lines: list[Line] = []
    width = min(
        max((cells(row.code) + 2 * row.depth for row in found), default=0),
        (terminal.width - GUTTER) // 2,
    )
    file = None
    for row in found:
        if row.file != file:
            file = row.file
            lines.append([(file or "in a library", "bold")])
        lines.append(_line(row, width, terminal))
    for each in told.skipped:
        lines.append([("not run      ", "dim"), (each, "")])
    return lines


def _line(row: Row, width: int, terminal: Terminal) -> Line:
    glyphs = terminal.glyphs
    code = cut("  " * row.depth + row.code, width, glyphs.cut)
    room = terminal.width - GUTTER - width - 2
    what = cut(row.what, room, glyphs.cut)
    style = "shape" if row.kind in ("batches", "backward") else "dim"
    return [
        (f"{row.line or '':>4} {glyphs.rule} ", "edge"),
        (f"{pad(code, width)}  ", ""),
        (what, style),
    ]
