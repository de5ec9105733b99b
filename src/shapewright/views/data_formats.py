"""The results of a command as JSON, SARIF, GitHub workflow commands or one line per
finding.

Source: the OASIS standard, "Static Analysis Results Interchange Format 2.1.0".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.spans import Span
from shapewright.record.json_writer import (
    VERSION,
    write_assumption,
    write_finding,
    write_span,
)
from shapewright.record.ops import collect_leaves
from shapewright.record.report import Gradient, Moment, Report, Skipped
from shapewright.record.solution import Demanded, Example, Needed, Solution
from shapewright.record.trace import Trace
from shapewright.views import formatting
from shapewright.views.formatting import format_demand

if TYPE_CHECKING:
    from shapewright.record.report import ChosenInputs


REPORT_VERSION = 1


def format_report_json(report: Report, indent: int | None = 2) -> str:
    """Return the report as JSON: version, target, findings, assumptions, complete."""
    return json.dumps(build_report_data(report), indent=indent, ensure_ascii=False)


def build_report_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "version": REPORT_VERSION,
        "target": report.target,
        "findings": [build_finding_data(finding) for finding in report.findings],
        "assumptions": [
            write_assumption(assumption) for assumption in report.assumptions
        ],
        "complete": report.complete,
        **({} if report.rehearsal else {"chosen": _build_chosen_data(report.chosen)}),
        **(_build_parts_data(report) if report.parts else {}),
        **(_build_rehearsal_data(report) if report.rehearsal is not None else {}),
    }


def build_finding_data(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data, with its fixes."""
    return {
        **write_finding(finding),
        "sizes": finding.sizes,
        "lines": list(finding.lines),
        "fixes": [_build_fix_data(fix) for fix in finding.fixes],
    }


def _build_parts_data(report: Report) -> dict[str, Any]:
    """Return the reports of the definitions in a file, and what was not checked."""
    return {
        "targets": [build_report_data(part) for part in report.parts],
        "not_checked": [
            {"target": definition.target, "reason": definition.reason}
            for definition in report.skipped
        ],
    }


def _build_chosen_data(chosen: ChosenInputs | None) -> dict[str, str] | None:
    """Return the inputs found by a search, or null if they were given or declared."""
    if chosen is None:
        return None
    return {"inputs": chosen.inputs, "again": chosen.again}


def _build_rehearsal_data(report: Report) -> dict[str, Any]:
    """Return what a rehearsal adds: the costs of the run and its story."""
    rehearsal, trace = report.rehearsal, report.trace
    assert rehearsal is not None
    totals = trace.totals if trace is not None else None
    return {
        "cost": {
            "parameters": totals.parameters if totals is not None else None,
            "flops": totals.flops if totals is not None else None,
            "steps": rehearsal.steps,
            "seconds": round(rehearsal.seconds, 3),
        },
        "device": rehearsal.device,
        "arguments": list(rehearsal.arguments),
        "story": _build_moment_data(rehearsal.story),
        "gradients": [
            _build_gradient_data(gradient) for gradient in rehearsal.gradients
        ],
        "skipped": list(rehearsal.skipped),
        "memory": None if rehearsal.memory is None else rehearsal.memory.to_dict(),
    }


def _build_gradient_data(gradient: Gradient) -> dict[str, Any]:
    """Return a value with its gradient, or null if it received none."""
    came = None
    if gradient.gradient is not None:
        came = {
            "shape": list(gradient.gradient),
            "dtype": gradient.gradient_dtype,
            "layout": gradient.layout,
        }
    return {
        "path": gradient.path,
        "kind": gradient.kind,
        "shape": list(gradient.shape),
        "dtype": gradient.dtype,
        "gradient": came,
    }


def _build_moment_data(moment: Moment) -> dict[str, Any]:
    """Return a moment of the story, without the fields that have their default."""
    data: dict[str, Any] = {"kind": moment.kind}
    if moment.file:
        data |= {"file": moment.file, "line": moment.line}
    if moment.text:
        data["text"] = moment.text
    if moment.count:
        data["count"] = moment.count
    if moment.turns:
        data |= {"turns": list(moment.turns), "total": moment.total}
    if moment.shapes:
        data["shapes"] = list(moment.shapes)
    if moment.inner:
        data["inner"] = [_build_moment_data(event) for event in moment.inner]
    return data


def _build_fix_data(fix: Fix) -> dict[str, Any]:
    """Return a fix, with its edits as positions and text."""
    return {
        "grade": fix.grade,
        "message": fix.message,
        "checked": fix.checked,
        "edits": [_build_edit_data(edit) for edit in fix.edits],
    }


def _build_edit_data(edit: Edit) -> dict[str, Any]:
    """Return an edit: its lines and columns start at 1, and its ends are exclusive."""
    span: Span = edit.span
    return {
        "file": span.file,
        "start": [span.line, span.column],
        "end": [span.end_line, span.end_column],
        "text": edit.text,
    }


SOLUTION_VERSION = 1


def format_solution_json(solution: Solution, indent: int | None = 2) -> str:
    """Return the solution as JSON: letters, demands, runs that show them, and
    outputs.
    """
    return json.dumps(_build_solution_data(solution), indent=indent, ensure_ascii=False)


def _build_solution_data(solution: Solution) -> dict[str, Any]:
    """Return the solution as plain data."""
    return {
        "version": SOLUTION_VERSION,
        "target": solution.target,
        "spec": solution.spec,
        "letters": list(solution.letters),
        "demands": [_build_demand_data(demand) for demand in solution.demands],
        "outputs": [
            {"dtype": fact.dtype, "shape": [str(size) for size in fact.shape]}
            for fact in collect_leaves(solution.output)
        ],
        "works": _build_example_data(solution.works),
        "fails": _build_example_data(solution.fails),
        "needed": _build_needed_data(solution.needed),
        "want": solution.want or None,
        "wanted": [_build_example_data(example) for example in solution.wanted],
        "runs": solution.runs,
        "sure": solution.sure,
        "tried": [
            {"sizes": dict(trial.sizes), "taken": not trial.message}
            for trial in solution.tried
        ],
        "stopped": solution.stopped or None,
    }


def _build_demand_data(demand: Demanded) -> dict[str, Any]:
    """Return a demand: a Python condition on the letters, its line, and its reason."""
    return {
        "condition": demand.text,
        "says": format_demand(demand.demand),
        "why": demand.why,
        "span": write_span(demand.span),
        "refused": _build_example_data(demand.refused),
        "calls": demand.calls,
        "implied": demand.implied,
    }


def _build_needed_data(argument: Needed | None) -> dict[str, Any] | None:
    """Return the argument of a layer that would have to be different, or None."""
    if argument is None:
        return None
    return {
        "layer": argument.layer,
        "class": argument.class_name,
        "argument": argument.argument,
        "has": argument.has,
        "formula": argument.formula or None,
        "value": argument.value,
        "sizes": dict(argument.sizes),
        "span": write_span(argument.span),
    }


def _build_example_data(run: Example | None) -> dict[str, Any] | None:
    """Return an example run as plain data."""
    if run is None:
        return None
    return {
        "sizes": dict(run.sizes),
        "output": run.output or None,
        "message": run.message or None,
        "span": write_span(run.span),
    }


def format_traces_json(
    target: str, traces: Sequence[Trace], skipped: Sequence[Skipped]
) -> str:
    """Return each trace as its own versioned record, with what was not traced."""
    whole = {
        "version": VERSION,
        "kind": "traces",
        "target": target,
        "traces": [json.loads(trace.to_json()) for trace in traces],
        "not_checked": [
            {"target": part.target, "reason": part.reason} for part in skipped
        ],
    }
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


def format_traces_summary(
    target: str, traces: Sequence[Trace], skipped: Sequence[Skipped]
) -> str:
    """Return the lines below the tables: the definitions not traced and their
    number.
    """
    count = formatting.format_plural(len(traces) + len(skipped), "definition")
    lines = [f"not traced: {definition}" for definition in skipped]
    only = " only contains definitions" if target.endswith((".py", ".ipynb")) else ""
    lines.append(f"{target}{only}: {len(traces)} of {count} traced")
    return "".join(f"{line}\n" for line in lines)


def format_report_lines(report: Report) -> str:
    """Return a line for each finding, or an empty string if there is none."""
    return "".join(f"{_format_finding_line(finding)}\n" for finding in report.findings)


def _format_finding_line(finding: Finding) -> str:
    """Return a finding as a line that ends with its best fix."""
    place = f"{finding.span}: " if finding.span else ""
    count = f" ({finding.count} times)" if finding.count > 1 else ""
    fix = f"; fix: {finding.fixes[0].message}" if finding.fixes else ""
    return f"{place}{finding.severity}[{finding.code}]: {finding.message}{count}{fix}"


LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def format_report_commands(report: Report) -> str:
    """Return a command for each finding: ``::error file=model.py,line=21::message``.

    A clean report on inputs that were chosen is a notice.
    """
    lines = [_format_command(finding) for finding in report.findings]
    if report.chosen is not None and report.exit_code == 0:
        title = _escape_field("shapewright inputs")
        text = _escape_data(f"{report.target}: no findings {report.chosen}")
        lines.append(f"::notice title={title}::{text}")
    for definition in report.skipped:
        title = _escape_field("shapewright not checked")
        lines.append(f"::notice title={title}::{_escape_data(str(definition))}")
    return "".join(f"{line}\n" for line in lines)


def _format_command(finding: Finding) -> str:
    """Return a finding as a workflow command."""
    fields = [f"title={_escape_field(f'shapewright {finding.code}')}"]
    if finding.span is not None:
        span = finding.span
        fields = [
            f"file={_escape_field(span.file)}",
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
    return f"::{LEVELS[finding.severity]} {','.join(fields)}::{_escape_data(text)}"


def _escape_data(text: str) -> str:
    """Escape the characters that would end a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_field(text: str) -> str:
    """Escape the text of a field, which colons and commas would end too."""
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def format_report_sarif(report: Report, version: str) -> str:
    """Return the report as SARIF text; `version` is Shapewright's version."""
    codes = sorted({finding.code for finding in report.findings})
    driver = {
        "name": "shapewright",
        "version": version,
        "rules": [{"id": code} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_build_result(finding) for finding in report.findings],
        **_build_notifications(report),
    }
    whole = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=2, ensure_ascii=False)


def _build_notifications(report: Report) -> dict[str, Any]:
    """Return a scanner's notes on the run itself: chosen inputs and skipped parts."""
    texts = [
        f"{definition.target} was not checked: {definition.reason}"
        for definition in report.skipped
    ]
    if report.chosen is not None:
        texts.insert(0, f"{report.target} was checked {report.chosen}")
    if not texts:
        return {}
    invocation = {
        "executionSuccessful": report.complete,
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": text}} for text in texts
        ],
    }
    return {"invocations": [invocation]}


def _build_result(finding: Finding) -> dict[str, Any]:
    """Return a finding as a SARIF result."""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": finding.message},
    }
    if finding.span is not None:
        result["locations"] = [_build_location(finding.span)]
    if finding.related:
        result["relatedLocations"] = [
            {**_build_location(place.span), "message": {"text": place.message}}
            for place in finding.related
        ]
    if finding.fixes:
        result["fixes"] = [_build_fix(fix) for fix in finding.fixes]
    return result


def _build_location(span: Span) -> dict[str, Any]:
    """Return a position in a file."""
    place = {"artifactLocation": _build_artifact(span), "region": _build_region(span)}
    return {"physicalLocation": place}


def _build_artifact(span: Span) -> dict[str, Any]:
    """Return the path of the file, with slashes on every system."""
    return {"uri": span.file.replace("\\", "/")}


def _build_region(span: Span) -> dict[str, Any]:
    """Return lines and columns, which start at 1 and whose end is exclusive."""
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _build_fix(fix: Fix) -> dict[str, Any]:
    """Return a fix, with its edits grouped by file."""
    files: dict[str, list[dict[str, Any]]] = {}
    spans: dict[str, Span] = {}
    for edit in fix.edits:
        spans[edit.span.file] = edit.span
        files.setdefault(edit.span.file, []).append(
            {
                "deletedRegion": _build_region(edit.span),
                "insertedContent": {"text": edit.text},
            }
        )
    return {
        "description": {"text": fix.message},
        "artifactChanges": [
            {"artifactLocation": _build_artifact(spans[name]), "replacements": edits}
            for name, edits in files.items()
        ],
    }
