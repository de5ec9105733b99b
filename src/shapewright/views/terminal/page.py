"""A whole page for the terminal: title, table, findings, totals, last line."""

from __future__ import annotations

from typing import Literal

from shapewright.trace.record import Trace
from shapewright.trace.totals import Totals
from shapewright.views import units
from shapewright.views.glyphs import ASCII, UNICODE
from shapewright.views.terminal.by_line import by_line
from shapewright.views.terminal.by_module import by_module
from shapewright.views.terminal.by_op import by_op
from shapewright.views.terminal.findings import assumption_lines, finding_lines
from shapewright.views.terminal.footer import labelled, last_line, totals_lines
from shapewright.views.terminal.formulas import formula_lines
from shapewright.views.terminal.paint import Line, Terminal, cells, cut, lower

By = Literal["module", "op", "line"]
PIPED = 100
"""The width of a page that is not for a terminal, whatever the terminal is."""


FIRST_OPS = 40
"""Ops that are shown beside the tree of a program without inner modules."""


def text(
    trace: Trace,
    by: By = "module",
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
) -> str:
    """The trace as text, by module, op or line, in tables of at most `width` columns.

    Example: ``print(text(trace, by="line", width=80))``. `width` None means 100
    columns. A function without modules is shown by op even so. With `unicode` False
    lines and marks are drawn in ASCII. Messages are not broken, so that they can be
    searched for.
    """
    glyphs = UNICODE if unicode else ASCII
    terminal = Terminal(max(width or PIPED, 40), colour, glyphs)
    return lower(page(trace, by, terminal), colour)


def page(trace: Trace, by: By, terminal: Terminal) -> list[Line]:
    """The lines of the page."""
    if not trace.calls and not trace.complete:  # it ended before its first call
        lines = [
            line
            for f in trace.findings
            for line in (*finding_lines(f, trace, terminal), [])
        ]
        return [*lines, [("nothing was traced: the program did not begin", "warning")]]
    totals = trace.totals
    lines = [_title(trace, terminal), [], *_body(trace, by, totals, terminal)]
    if lines[-1]:
        lines.append([])
    for finding in trace.findings:
        lines += [*finding_lines(finding, trace, terminal), []]
    notes = formula_lines(trace, terminal)
    notes += assumption_lines(trace, terminal)
    for note in trace.notes:
        notes += labelled("note", note, terminal)
    if notes:
        lines += [*notes, []]
    lines += totals_lines(trace, totals, terminal)
    if not trace.complete:
        lines.append([("incomplete: the program did not reach its end", "warning")])
    return [*lines, last_line(trace, totals)]


def _title(trace: Trace, terminal: Terminal) -> Line:
    mode = "training" if trace.training else "evaluation"
    facts = [mode]
    facts += [f"{name} = {size}" for name, size in trace.letters.items()]
    if trace.torch_version:
        facts.append(f"torch {trace.torch_version}")
    facts.append(units.plural(len(trace.ops), "op"))
    rest = f"  {', '.join(facts)}"
    room = terminal.width - cells(trace.target)
    return [(trace.target, "title"), (cut(rest, room, terminal.glyphs.cut), "dim")]


def _body(trace: Trace, by: By, totals: Totals, terminal: Terminal) -> list[Line]:
    if by == "op":
        return by_op(trace, terminal)
    if by == "line":
        return by_line(trace, terminal)
    if len(trace.calls) > 1:
        return by_module(trace, totals, terminal)
    whole = [*by_module(trace, totals, terminal), []] if trace.calls else []
    return [*whole, *by_op(trace, terminal, FIRST_OPS)]
