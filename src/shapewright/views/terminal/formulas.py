"""Where the formulas of a trace hold, above its totals."""

from __future__ import annotations

from shapewright.trace.record import Trace
from shapewright.views.formulas import formula_rows
from shapewright.views.terminal.footer import labelled
from shapewright.views.terminal.paint import Line, Terminal


def formula_lines(trace: Trace, terminal: Terminal) -> list[Line]:
    """A line for each thing that is said of the letters."""
    lines: list[Line] = []
    for label, text in formula_rows(trace):
        lines += labelled(label, text, terminal)
    return lines
