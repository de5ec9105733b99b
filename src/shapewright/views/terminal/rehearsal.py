"""What `rehearse` found, and the story of the run, for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from shapewright.views import units
from shapewright.views.glyphs import ASCII, UNICODE
from shapewright.views.story import Row, rows
from shapewright.views.terminal import report as reports
from shapewright.views.terminal.footer import labelled, wrapped
from shapewright.views.terminal.gradients import beside
from shapewright.views.terminal.paint import (
    Line,
    Terminal,
    cells,
    cut,
    cut_left,
    lower,
    pad,
)

if TYPE_CHECKING:
    from shapewright.trace.record import Assumption
    from shapewright.trace.report import Report

GUTTER = 7
"""Columns of the line number and the rule."""

NARROW = 60
"""Columns below which the program's own lines have a third, not a half."""

MOST_ROWS = 120
"""Lines of the program that are told of."""

MOST_SKIPPED = 8
"""Things that were not run, each in a line of its own."""

MOST_PLACES = 4
"""Lines that are named of one assumption."""


def text(
    report: Report,
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
    gradients: bool = False,
) -> str:
    """The story, then gradients beside values where asked for, then the findings."""
    terminal = Terminal(max(width or 100, 40), colour, UNICODE if unicode else ASCII)
    told = story(report, terminal)
    lines = [*head(report, terminal), [], *told, *([[]] if told else [])]
    if gradients and report.rehearsal is not None:
        lines += [*beside(report.rehearsal.gradients, terminal), []]
    notes = assumed(report.assumptions, terminal)
    found = reports.text(report, width, colour, unicode, notes)
    return lower(lines, colour) + found


def head(report: Report, terminal: Terminal) -> list[Line]:
    """What was run, on what, how long."""
    told = report.rehearsal
    if told is None:
        return [[(f"{report.target} did not run", "error")]]
    command = " ".join([report.target, *told.arguments])
    steps = units.plural(told.steps, "optimizer step")
    done = f"on {told.device}: {steps} in {told.seconds:.1f} s, with no data"
    if cells(command) + 2 + cells(done) <= terminal.width:
        return [[(command, "title"), (f"  {done}", "dim")]]
    parts = wrapped(command, terminal.width)
    below = wrapped(done, terminal.width)
    return [
        *[[(part, "title")] for part in parts],
        *[[(part, "dim")] for part in below],
    ]


def story(report: Report, terminal: Terminal) -> list[Line]:
    """The lines that made the run, each with what came of it."""
    told = report.rehearsal
    if told is None:
        return []
    found = rows(told.story, report.trace)
    more = len(found) - MOST_ROWS
    found = found[:MOST_ROWS]
    lines: list[Line] = []
    width = min(
        max((cells(row.code) + 2 * row.depth for row in found), default=0),
        (terminal.width - GUTTER) // (2 if terminal.width >= NARROW else 3),
    )
    file = None
    for row in found:
        if row.file != file:
            file = row.file
            name = cut_left(file, terminal.width, terminal.glyphs.cut)
            lines.append([(name or "in a library", "bold")])
        lines += _lines(row, width, terminal)
    if more > 0:
        lines.append([(f"and {units.plural(more, 'line')} more", "dim")])
    for each in told.skipped[:MOST_SKIPPED]:
        lines += labelled("not run", each, terminal)
    more = len(told.skipped) - MOST_SKIPPED
    if more > 0:
        lines += labelled("not run", f"{more} more, in the JSON", terminal)
    return lines


def _lines(row: Row, width: int, terminal: Terminal) -> Iterator[Line]:
    """A row, with what came of it broken into lines: a shape is never cut."""
    glyphs = terminal.glyphs
    room = terminal.width - GUTTER - width - 2
    code = cut("  " * row.depth + row.code, width, glyphs.cut)
    shaped = row.kind in ("batches", "backward")
    broken = wrapped_shapes if shaped else wrapped_words
    parts = [part for each in row.what for part in broken(each, room)]
    shorten = cut_left if row.kind in ("save", "load") else cut
    for at, part in enumerate(parts or [""]):
        number = row.line if at == 0 and row.line else ""
        yield [
            (f"{number:>4} {glyphs.rule} ", "edge"),
            (f"{pad(code if at == 0 else '', width)}  ", ""),
            (shorten(part, room, glyphs.cut), "shape" if shaped else "dim"),
        ]


def wrapped_shapes(text: str, room: int) -> Iterable[str]:
    """The text in lines, broken behind commas that are not within a shape."""
    depth, joined, before = 0, "", ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        breaks = letter != " " or (depth == 0 and before == ",")
        joined += letter if breaks else "\0"
        before = letter
    return [line.replace("\0", " ") for line in wrapped_words(joined, room)]


def wrapped_words(text: str, room: int) -> Iterable[str]:
    """The text in lines, those after the first a little to the right."""
    lines = [*wrapped(text, room)]
    if len(lines) > 1:
        lines = [*wrapped(text, room - 2)]
    return [lines[0], *(f"  {line}" for line in lines[1:])]


def assumed(assumptions: Iterable[Assumption], terminal: Terminal) -> list[Line]:
    """What the run supposed: equal ones together, with their lines."""
    found: dict[str, list[Assumption]] = {}
    for each in assumptions:
        found.setdefault(each.message.removeprefix("assumed "), []).append(each)
    lines: list[Line] = []
    for message, group in found.items():
        told = message
        places = [each.span for each in group if each.span is not None]
        if places:
            names = [f"{place.file}:{place.line}" for place in places[:MOST_PLACES]]
            more = len(places) - len(names)
            told += f" at {', '.join(names)}" + (f" and {more} more" if more else "")
        count = sum(each.count for each in group)
        if count > len(group):
            told += f", {units.times(count)}"
        lines += labelled("assumed", told, terminal)
    return lines
