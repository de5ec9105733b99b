"""What `check` found, as versioned JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shapewright.findings.fix import Edit, Fix
from shapewright.source.span import Span
from shapewright.trace.encode import assumption_json, finding_json

if TYPE_CHECKING:
    from shapewright.trace.report import Report

VERSION = 1


def report_json(report: Report, indent: int | None = 2) -> str:
    """The report as JSON text: version, target, findings, assumptions, complete."""
    return json.dumps(report_data(report), indent=indent, ensure_ascii=False)


def report_data(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "version": VERSION,
        "target": report.target,
        "findings": [
            {
                **finding_json(each),
                "sizes": each.sizes,
                "lines": list(each.lines),
                "fixes": [fix_json(fix) for fix in each.fixes],
            }
            for each in report.findings
        ],
        "assumptions": [assumption_json(each) for each in report.assumptions],
        "complete": report.complete,
    }


def fix_json(fix: Fix) -> dict[str, Any]:
    """A fix, its edits as places and text."""
    return {
        "grade": fix.grade,
        "message": fix.message,
        "checked": fix.checked,
        "edits": [edit_json(edit) for edit in fix.edits],
    }


def edit_json(edit: Edit) -> dict[str, Any]:
    """An edit: lines and columns from 1, ends exclusive."""
    span: Span = edit.span
    return {
        "file": span.file,
        "start": [span.line, span.column],
        "end": [span.end_line, span.end_column],
        "text": edit.text,
    }
