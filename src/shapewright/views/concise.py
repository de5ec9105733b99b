"""What `check` found, a line each: `file:line:column: error[code]: message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapewright.findings.finding import Finding

if TYPE_CHECKING:
    from shapewright.trace.report import Report


def report_lines(report: Report) -> str:
    """A line for each finding; nothing where there is none."""
    return "".join(f"{finding_line(each)}\n" for each in report.findings)


def finding_line(finding: Finding) -> str:
    """One finding in one line, its best fix after it."""
    place = f"{finding.span}: " if finding.span else ""
    count = f" ({finding.count} times)" if finding.count > 1 else ""
    fix = f"; fix: {finding.fixes[0].message}" if finding.fixes else ""
    return f"{place}{finding.severity}[{finding.code}]: {finding.message}{count}{fix}"
