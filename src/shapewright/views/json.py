"""What `check` found, as versioned JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shapewright.findings.fix import Edit, Fix
from shapewright.source.span import Span
from shapewright.trace.encode import assumption_json, finding_json
from shapewright.trace.rehearsal import Gradient, Moment

if TYPE_CHECKING:
    from shapewright.trace.report import Chosen, Report

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
        **({} if report.rehearsal else {"chosen": chosen_json(report.chosen)}),
        **(parts_data(report) if report.parts else {}),
        **(rehearsal_data(report) if report.rehearsal is not None else {}),
    }


def parts_data(report: Report) -> dict[str, Any]:
    """Of a file that only defines things: the report of each, and what was skipped."""
    return {
        "targets": [report_data(each) for each in report.parts],
        "not_checked": [
            {"target": each.target, "reason": each.reason} for each in report.skipped
        ],
    }


def chosen_json(chosen: Chosen | None) -> dict[str, str] | None:
    """Inputs that were looked for; null where they were given or declared."""
    if chosen is None:
        return None
    return {"inputs": chosen.inputs, "again": chosen.again}


def rehearsal_data(report: Report) -> dict[str, Any]:
    """What a rehearsal adds: what the run costs, and its story."""
    told, trace = report.rehearsal, report.trace
    assert told is not None
    totals = trace.totals if trace is not None else None
    return {
        "cost": {
            "parameters": totals.parameters if totals is not None else None,
            "flops": totals.flops if totals is not None else None,
            "steps": told.steps,
            "seconds": round(told.seconds, 3),
        },
        "device": told.device,
        "arguments": list(told.arguments),
        "story": moment_data(told.story),
        "gradients": [gradient_data(each) for each in told.gradients],
        "skipped": list(told.skipped),
    }


def gradient_data(each: Gradient) -> dict[str, Any]:
    """A value, and the gradient that came to it; null where none came."""
    came = None
    if each.gradient is not None:
        came = {
            "shape": list(each.gradient),
            "dtype": each.gradient_dtype,
            "layout": each.layout,
        }
    return {
        "path": each.path,
        "kind": each.kind,
        "shape": list(each.shape),
        "dtype": each.dtype,
        "gradient": came,
    }


def moment_data(moment: Moment) -> dict[str, Any]:
    """A moment of the story; fields at their default are left out."""
    found: dict[str, Any] = {"kind": moment.kind}
    if moment.file:
        found |= {"file": moment.file, "line": moment.line}
    if moment.text:
        found["text"] = moment.text
    if moment.count:
        found["count"] = moment.count
    if moment.turns:
        found |= {"turns": list(moment.turns), "total": moment.total}
    if moment.shapes:
        found["shapes"] = list(moment.shapes)
    if moment.inner:
        found["inner"] = [moment_data(each) for each in moment.inner]
    return found


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
