"""Findings as blocks with the source and a mark under the place, and the whole report
of `check`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shapewright.findings.codes import PROGRAM_ERROR, SIZE_CHECK, UNPACKED_SIZES
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span
from shapewright.record.ops import Assumption
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import (
    ASCII,
    UNICODE,
    Line,
    Terminal,
    count_cells,
    cut_text,
    render_lines,
)
from shapewright.views.terminal.totals import label_text, wrap_text

if TYPE_CHECKING:
    from shapewright.record.report import ChosenInputs, Report


TRIED = "checked by running it"
OF_PYTHON = frozenset({UNPACKED_SIZES, SIZE_CHECK, PROGRAM_ERROR})
"""Codes of errors that the program's own Python raised."""


def format_finding_lines(
    finding: Finding, trace: Trace, terminal: Terminal, tried: str = TRIED
) -> list[Line]:
    """Return the block of a finding, as ``error[code]: message`` and its place.

    The first line is complete by itself. `tried` describes how fixes were tried.
    """
    head: Line = [
        (f"{finding.severity}[{finding.code}]", finding.severity),
        (f": {finding.message}", "bold"),
    ]
    if finding.count > 1 and f" {finding.count:,} times" not in finding.message:
        head.append((f" ({formatting.format_times(finding.count)})", "plain"))
    lines = [head]
    margin = " "
    if finding.span is not None:
        margin = " " * len(str(finding.span.line))
        lines += _format_place_line(
            finding.span, _find_where(finding, trace), margin, terminal
        )
        lines += _format_snippet(
            finding.span, finding.severity, trace, margin, terminal
        )
    notes = _format_notes(finding, margin, terminal)
    if notes and finding.span is not None:
        lines.append([(f"{margin} {terminal.glyphs.rule}", "edge")])
    return lines + notes + _format_fixes(finding, tried)


def _format_fixes(finding: Finding, how: str) -> list[Line]:
    """Return the suggested replacements, and whether they were tried."""
    lines: list[Line] = []
    for fix in finding.fixes:
        place = _format_place(fix.edits[0].span, finding)
        tried = f" ({how})" if fix.checked else ""
        word = "help" if not lines else "  or"
        lines.append(
            [
                (word, "note"),
                (f": {fix.message} at {place}{tried}", ""),
            ]
        )
        for edit in fix.edits:
            rows = edit.text.strip("\n").split("\n")
            if edit.span == edit.span.start and len(rows) > 1:
                lines += [[("        ", ""), (row, "")] for row in rows]
    return lines


def _format_notes(finding: Finding, margin: str, terminal: Terminal) -> list[Line]:
    """Return the origin of each side, and torch's own message if it is different.

    Sentences are wrapped to the width; torch's message is not, so that it can be
    searched for. With `terminal.notes`, the first so many of these notes, and how many
    there are behind `--verbose`.
    """
    most = terminal.notes
    texts = [
        f"{related.message}, at {_format_place(related.span, finding)}"
        for related in finding.related
    ]
    says = ""
    own = finding.code.startswith("program-")  # the program's error, not torch's
    if (
        finding.torch_message
        and not own
        and finding.message not in finding.torch_message
    ):
        who = "Python" if finding.code in OF_PYTHON else "torch"
        first = finding.torch_message.strip().splitlines()[0]
        says = f"{who} says: {first}"
        texts.append(says)
    room = terminal.width - len(margin) - 3
    lines: list[Line] = []
    for text in finding.lines:
        is_aligned = "  " in text  # shapes below one another
        parts = [text] if is_aligned else wrap_text(text, room)
        lines += [[(f"{margin}   ", ""), (part, "")] for part in parts]
    if most is not None and len(texts) > most + 1:  # a single one is shown, too
        more = len(texts) - most
        chains = [text for text in texts[2:] if " -> " in text]  # `28 -> 24 -> 12`
        others = [text for text in texts[2:] if text not in chains]
        kept = [*texts[:2], *chains, *others][:most]
        texts = [*kept, f"{more} more notes with --verbose"]
    for text in texts:
        first, *rest = [text] if text == says else wrap_text(text, room)
        lines.append([(f"{margin} = ", "edge"), (first, "")])
        lines += [[(f"{margin}   ", ""), (part, "")] for part in rest]
    return lines


def _format_place(span: Span, finding: Finding) -> str:
    """Return a position, in short form if it is in the finding's own file."""
    if finding.span is not None and span.file == finding.span.file:
        return f"line {span.line}"
    return f"{span.file}:{span.line}"


def _find_where(finding: Finding, trace: Trace) -> str:
    if not finding.module:
        return ""
    names = {call.path: call.class_name for call in trace.calls}
    kind = names.get(finding.module)
    return f"  in `{finding.module}`" + (f" ({kind})" if kind else "")


def _format_place_line(
    span: Span, where: str, margin: str, terminal: Terminal
) -> list[Line]:
    rule = terminal.glyphs.rule
    return [
        [(f"{margin}--> ", "edge"), (str(span), ""), (where, "plain")],
        [(f"{margin} {rule}", "edge")],
    ]


def _format_snippet(
    span: Span, style: str, trace: Trace, margin: str, terminal: Terminal
) -> list[Line]:
    source = trace.sources.get(span.file)
    text = source.text.splitlines() if source and source.text else []
    if not 1 <= span.line <= len(text):
        return []
    rule = terminal.glyphs.rule
    code = text[span.line - 1].replace("\t", " ")
    end = span.end_column if span.end_line == span.line else len(code) + 1
    before = " " * count_cells(code[: span.column - 1])
    under = "^" * max(1, count_cells(code[span.column - 1 : end - 1]))
    room = terminal.width - len(margin) - 3
    edge = (f"{margin} {rule} ", "edge")
    return [
        [
            (f"{span.line} {rule} ", "edge"),
            (cut_text(code, room, terminal.glyphs.cut), ""),
        ],
        [edge, (before, ""), (under[: max(1, room - len(before))], style)],
    ]


def format_assumption_lines(trace: Trace, terminal: Terminal) -> list[Line]:
    """Return the assumptions of the run, with their places and counts."""
    lines: list[Line] = []
    for assumption in trace.assumptions:
        label, text = format_assumption(assumption)
        if assumption.span is not None:
            text += f" at {assumption.span.file}:{assumption.span.line}"
        if assumption.count > 1:
            text += f", {formatting.format_times(assumption.count)}"
        lines += label_text(label, text, terminal)
    return lines


def format_assumption(assumption: Assumption) -> tuple[str, str]:
    """Return the label and the words of an assumption, without its place."""
    if not assumption.stands_for:
        return "assumed", assumption.message.removeprefix("assumed ")
    what = f"{assumption.stands_for} ({assumption.basis})"
    return "stood in for", f"{what}: {assumption.message}"


def format_report(
    report: Report,
    width: int | None = None,
    colour: bool = False,
    unicode: bool = True,
    notes: list[Line] | None = None,
    most: int | None = None,
) -> str:
    """Return the findings, each with its causes and fixes, and a line of counts.

    `notes` replace the lines of assumptions; `most` limits the notes of a finding.
    """
    if report.parts:
        return "\n".join(
            [
                *(
                    format_report(part, width, colour, unicode, most=most)
                    for part in report.parts
                ),
                render_lines(_format_parts(report), colour),
            ]
        )
    glyphs = UNICODE if unicode else ASCII
    terminal = Terminal(max(width or 100, 40), colour, glyphs, most)
    trace = report.trace
    lines: list[Line] = []
    for finding in report.findings:
        if trace is not None:
            lines += [*format_finding_lines(finding, trace, terminal), []]
    if trace is not None:
        notes = format_assumption_lines(trace, terminal) if notes is None else notes
        lines += [*notes, []] if notes else []
    return render_lines([*lines, _format_last_line(report)], colour)


def _format_parts(report: Report) -> list[Line]:
    """Return the definitions that were not checked, and their number."""
    lines: list[Line] = [
        [(f"not checked: {definition}", "note")] for definition in report.skipped
    ]
    checked = len(report.parts)
    count = formatting.format_plural(checked + len(report.skipped), "definition")
    whole = replace(report, target=f"{report.target}: {checked} of {count} checked")
    return [
        *lines,
        _format_last_line(replace(whole, chosen=None, parts=()), report.chosen),
    ]


def _format_last_line(report: Report, of_parts: ChosenInputs | None = None) -> Line:
    """Return the counts of each kind, and whether the program reached its end."""
    counts = {
        kind: sum(finding.severity == kind for finding in report.findings)
        for kind in ("error", "warning", "note")
    }
    count_texts = [
        formatting.format_plural(count, kind) for kind, count in counts.items() if count
    ]
    end = "" if report.complete else "; the program did not reach its end"
    if of_parts is not None and not count_texts:
        end += " at sizes that were chosen"
    if report.chosen is not None and not (counts["error"] or counts["warning"]):
        end += f" {report.chosen}" if not count_texts else f"; {report.chosen}"
    if not count_texts:
        return [(f"{report.target}: no findings{end}", "")]
    style = "error" if counts["error"] else "warning" if counts["warning"] else "note"
    return [(f"{report.target}: {', '.join(count_texts)}{end}", style)]


def format_note(
    finding: Finding,
    trace: Trace,
    unicode: bool = True,
    tried: str = "tried on this call only",
) -> str:
    """Return a finding as a note for an exception; `tried` says how fixes were."""
    terminal = Terminal(glyphs=UNICODE if unicode else ASCII)
    lines = format_finding_lines(finding, trace, terminal, tried)
    return render_lines(lines, False).rstrip()
