"""What `check` found, as SARIF 2.1.0, which code scanners read.

Source: the OASIS standard, "Static Analysis Results Interchange Format 2.1.0".
"""

from __future__ import annotations

import json
from typing import Any

from shapewright.findings.finding import Finding
from shapewright.findings.fix import Fix
from shapewright.source.span import Span
from shapewright.trace.report import Report

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def report_sarif(report: Report, version: str) -> str:
    """The report as SARIF text; `version` is ours."""
    codes = sorted({each.code for each in report.findings})
    driver = {
        "name": "shapewright",
        "version": version,
        "rules": [{"id": code} for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [result(each) for each in report.findings],
        **notifications(report),
    }
    whole = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=2, ensure_ascii=False)


def notifications(report: Report) -> dict[str, Any]:
    """What a scanner shall say of the run itself: chosen inputs, what was skipped."""
    texts = [f"{each.target} was not checked: {each.reason}" for each in report.skipped]
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


def result(finding: Finding) -> dict[str, Any]:
    """One finding."""
    made: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity,
        "message": {"text": finding.message},
    }
    if finding.span is not None:
        made["locations"] = [location(finding.span)]
    if finding.related:
        made["relatedLocations"] = [
            {**location(each.span), "message": {"text": each.message}}
            for each in finding.related
        ]
    if finding.fixes:
        made["fixes"] = [fix(each) for each in finding.fixes]
    return made


def location(span: Span) -> dict[str, Any]:
    """A place in a file."""
    place = {"artifactLocation": artifact(span), "region": region(span)}
    return {"physicalLocation": place}


def artifact(span: Span) -> dict[str, Any]:
    """The file, with slashes on every system."""
    return {"uri": span.file.replace("\\", "/")}


def region(span: Span) -> dict[str, Any]:
    """Lines and columns from 1, the end exclusive."""
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def fix(one: Fix) -> dict[str, Any]:
    """A fix, its edits by file."""
    files: dict[str, list[dict[str, Any]]] = {}
    spans: dict[str, Span] = {}
    for edit in one.edits:
        spans[edit.span.file] = edit.span
        files.setdefault(edit.span.file, []).append(
            {
                "deletedRegion": region(edit.span),
                "insertedContent": {"text": edit.text},
            }
        )
    return {
        "description": {"text": one.message},
        "artifactChanges": [
            {"artifactLocation": artifact(spans[name]), "replacements": edits}
            for name, edits in files.items()
        ],
    }
