"""What `check` found, for the terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shapewright.findings.finding import Finding
from shapewright.trace.record import Trace
from shapewright.views import units
from shapewright.views.glyphs import ASCII, UNICODE
from shapewright.views.terminal.findings import assumption_lines, finding_lines
from shapewright.views.terminal.paint import Line, Terminal, lower

if TYPE_CHECKING:
    from shapewright.trace.report import Chosen, Report


def text(
    report: Report,
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
    notes: list[Line] | None = None,
) -> str:
    """The findings, each with its causes and fixes, and a last line that counts.

    `notes` stand for the lines of what was assumed.
    """
    if report.parts:
        return "\n".join(
            [
                *(text(each, width, colour, unicode) for each in report.parts),
                lower(parts_lines(report), colour),
            ]
        )
    terminal = Terminal(max(width or 100, 40), colour, UNICODE if unicode else ASCII)
    trace = report.trace
    lines: list[Line] = []
    for finding in report.findings:
        if trace is not None:
            lines += [*finding_lines(finding, trace, terminal), []]
    if trace is not None:
        notes = assumption_lines(trace, terminal) if notes is None else notes
        lines += [*notes, []] if notes else []
    return lower([*lines, last_line(report)], colour)


def parts_lines(report: Report) -> list[Line]:
    """What was not checked of a file, and how many of its definitions were."""
    lines: list[Line] = [[(f"not checked: {each}", "note")] for each in report.skipped]
    checked = len(report.parts)
    count = units.plural(checked + len(report.skipped), "definition")
    whole = replace(report, target=f"{report.target}: {checked} of {count} checked")
    return [*lines, last_line(replace(whole, chosen=None, parts=()), report.chosen)]


def last_line(report: Report, of_parts: Chosen | None = None) -> Line:
    """How many there are of each kind; whether the program reached its end."""
    counts = {
        kind: sum(each.severity == kind for each in report.findings)
        for kind in ("error", "warning", "note")
    }
    told = [units.plural(count, kind) for kind, count in counts.items() if count]
    end = "" if report.complete else "; the program did not reach its end"
    if of_parts is not None and not told:
        end += " at sizes that were chosen"
    if report.chosen is not None and not (counts["error"] or counts["warning"]):
        end += f" {report.chosen}" if not told else f"; {report.chosen}"
    if not told:
        return [(f"{report.target}: no findings{end}", "")]
    style = "error" if counts["error"] else "warning" if counts["warning"] else "note"
    return [(f"{report.target}: {', '.join(told)}{end}", style)]


def finding_text(finding: Finding, trace: Trace) -> str:
    """One finding as text."""
    return lower(finding_lines(finding, trace, Terminal()), False)


def note_text(finding: Finding, trace: Trace, unicode: bool = True) -> str:
    """One finding as the note of an exception."""
    terminal = Terminal(glyphs=UNICODE if unicode else ASCII)
    lines = finding_lines(finding, trace, terminal, "tried on this call only")
    return lower(lines, False).rstrip()
