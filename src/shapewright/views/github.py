"""What `check` found, as workflow commands that GitHub shows at the lines."""

from __future__ import annotations

from shapewright.findings.finding import Finding
from shapewright.trace.report import Report

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def report_commands(report: Report) -> str:
    """A command for each finding: ``::error file=model.py,line=21,...::message``.

    A clean report on inputs that were chosen is a notice.
    """
    lines = [command(each) for each in report.findings]
    if report.chosen is not None and report.exit_code == 0:
        title = field("shapewright inputs")
        text = data(f"{report.target}: no findings {report.chosen}")
        lines.append(f"::notice title={title}::{text}")
    for each in report.skipped:
        title = field("shapewright not checked")
        lines.append(f"::notice title={title}::{data(str(each))}")
    return "".join(f"{line}\n" for line in lines)


def command(finding: Finding) -> str:
    """One finding as a workflow command."""
    fields = [f"title={field(f'shapewright {finding.code}')}"]
    if finding.span is not None:
        span = finding.span
        fields = [
            f"file={field(span.file)}",
            f"line={span.line}",
            f"endLine={span.end_line}",
            f"col={span.column}",
            f"endColumn={span.end_column}",
            *fields,
        ]
    text = finding.message
    for fix in finding.fixes[:1]:
        place = fix.edits[0].span
        text += f"\nhelp: {fix.message} at {place.file}:{place.line}"
    return f"::{LEVELS[finding.severity]} {','.join(fields)}::{data(text)}"


def data(text: str) -> str:
    """Text with what a command would end at escaped."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def field(text: str) -> str:
    """The same in a field, where colons and commas end it too."""
    return data(text).replace(":", "%3A").replace(",", "%2C")
