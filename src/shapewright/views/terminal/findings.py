"""A finding as a block with the source and a mark under the place."""

from __future__ import annotations

from shapewright.findings.finding import Finding
from shapewright.source.span import Span
from shapewright.trace.record import Trace
from shapewright.views import units
from shapewright.views.terminal.footer import labelled
from shapewright.views.terminal.paint import Line, Terminal, cells, cut

TRIED = "checked by running it"
OF_PYTHON = frozenset({"unpacked-sizes", "size-check", "program-error"})
"""Codes of what the program's own Python raised."""


def finding_lines(
    finding: Finding, trace: Trace, terminal: Terminal, tried: str = TRIED
) -> list[Line]:
    """The block of one finding, as ``error[code]: message`` and its place.

    The first line stands alone: it says all that one must know. `tried` says how fixes
    were tried.
    """
    head: Line = [
        (f"{finding.severity}[{finding.code}]", finding.severity),
        (f": {finding.message}", "bold"),
    ]
    if finding.count > 1 and f" {finding.count:,} times" not in finding.message:
        head.append((f" ({units.times(finding.count)})", "dim"))
    lines = [head]
    margin = " "
    if finding.span is not None:
        margin = " " * len(str(finding.span.line))
        lines += _place(finding.span, _where(finding, trace), margin, terminal)
        lines += _snippet(finding.span, finding.severity, trace, margin, terminal)
    notes = _notes(finding, margin)
    if notes and finding.span is not None:
        lines.append([(f"{margin} {terminal.glyphs.rule}", "edge")])
    return lines + notes + _fixes(finding, tried)


def _fixes(finding: Finding, how: str) -> list[Line]:
    """What to write instead, and whether it was tried."""
    lines: list[Line] = []
    for fix in finding.fixes:
        place = _at(fix.edits[0].span, finding)
        tried = f" ({how})" if fix.checked else ""
        word = "help" if not lines else "  or"
        lines.append(
            [
                (word, "note"),
                (f": {fix.message} at {place}{tried}", ""),
            ]
        )
    return lines


def _notes(finding: Finding, margin: str) -> list[Line]:
    """Where each side came from, and torch's own words where they are others."""
    lines: list[Line] = []
    for text in finding.lines:
        lines.append([(f"{margin}   ", ""), (text, "")])
    for related in finding.related:
        text = f"{related.message}, at {_at(related.span, finding)}"
        lines.append([(f"{margin} = ", "edge"), (text, "")])
    own = finding.code.startswith("program-")  # the program's error, not torch's
    if (
        finding.torch_message
        and not own
        and finding.message not in finding.torch_message
    ):
        who = "Python" if finding.code in OF_PYTHON else "torch"
        text = f"{who} says: {finding.torch_message.strip().splitlines()[0]}"
        lines.append([(f"{margin} = ", "edge"), (text, "")])
    return lines


def _at(span: Span, finding: Finding) -> str:
    """A place, in short where it lies in the finding's own file."""
    if finding.span is not None and span.file == finding.span.file:
        return f"line {span.line}"
    return f"{span.file}:{span.line}"


def _where(finding: Finding, trace: Trace) -> str:
    if not finding.module:
        return ""
    names = {call.path: call.class_name for call in trace.calls}
    kind = names.get(finding.module)
    return f"  in `{finding.module}`" + (f" ({kind})" if kind else "")


def _place(span: Span, where: str, margin: str, terminal: Terminal) -> list[Line]:
    rule = terminal.glyphs.rule
    return [
        [(f"{margin}--> ", "edge"), (str(span), ""), (where, "dim")],
        [(f"{margin} {rule}", "edge")],
    ]


def _snippet(
    span: Span, style: str, trace: Trace, margin: str, terminal: Terminal
) -> list[Line]:
    source = trace.sources.get(span.file)
    text = source.text.splitlines() if source and source.text else []
    if not 1 <= span.line <= len(text):
        return []
    rule = terminal.glyphs.rule
    code = text[span.line - 1].replace("\t", " ")
    end = span.end_column if span.end_line == span.line else len(code) + 1
    before = " " * cells(code[: span.column - 1])
    under = "^" * max(1, cells(code[span.column - 1 : end - 1]))
    room = terminal.width - len(margin) - 3
    edge = (f"{margin} {rule} ", "edge")
    return [
        [(f"{span.line} {rule} ", "edge"), (cut(code, room, terminal.glyphs.cut), "")],
        [edge, (before, ""), (under[: max(1, room - len(before))], style)],
    ]


def assumption_lines(trace: Trace, terminal: Terminal) -> list[Line]:
    """What the run supposed, each with its place and how often."""
    lines: list[Line] = []
    for each in trace.assumptions:
        text = each.message.removeprefix("assumed ")
        if each.span is not None:
            text += f" at {each.span.file}:{each.span.line}"
        if each.count > 1:
            text += f", {units.times(each.count)}"
        lines += labelled("assumed", text, terminal)
    return lines
