"""What `check` does: a run that goes on after errors, their causes, and tried fixes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shapewright.findings.fix import Fix
from shapewright.reasoning.program import Program
from shapewright.trace.report import Report

Overlay = Mapping[str, str]
"""Texts that stand for files, by absolute path."""
Attempt = Callable[[Overlay], "Tried"]


@dataclass(frozen=True, slots=True)
class Tried:
    """What a run with changed text came to."""

    failures: tuple[tuple[str, int, str], ...]
    complete: bool
    output: str = ""


def report(program: Program, attempt: Attempt | None, first: bool = False) -> Report:
    """Findings of a run, with fixes that were tried where that can be done."""
    from shapewright.reasoning.explaining import explained_with

    trace = program.trace
    findings = []
    for finding, failures in explained_with(program):
        if attempt is not None:
            finding = replace(finding, fixes=checked(program, failures[0], attempt))
        findings.append(finding)
        if first:
            break
    told = {place_of(program, each)[:2] for each in program.failures}
    for each in trace.findings:
        known = each.code in ("torch-error", "program-error") and (
            each.span and (each.span.file, each.span.line) in told
        )
        if not known and not (first and findings):
            findings.append(each)
    return Report(
        trace.target, tuple(findings), tuple(trace.assumptions), trace.complete, trace
    )


MOST_SHOWN = 3


def checked(program: Program, failure: Any, attempt: Attempt) -> tuple[Fix, ...]:
    """The candidates that make the failure go away and bring no new one."""
    from shapewright.reasoning.fixes.candidates import candidates

    before = tuple(place_of(program, each) for each in program.failures)
    gone = place_of(program, failure)
    found: list[Fix] = []
    for fix in candidates(program, failure):
        overlay = edited(program, fix)
        if overlay is None:
            continue
        tried = attempt(overlay)
        left = [place for place in before if place != gone]
        new = [place for place in tried.failures if place not in left]
        if tried.complete and not new:
            found.append(replace(fix, checked=True))
        if len(found) == MOST_SHOWN:
            break
    return tuple(found)


def place_of(program: Program, failure: Any) -> tuple[str, int, str]:
    """Where a call failed: file, line, and operator."""
    op = program.trace.ops[failure.op]
    if op.span is None:
        return ("", 0, op.name)
    return (op.span.file, op.span.line, op.name)


def edited(program: Program, fix: Fix) -> dict[str, str] | None:
    """The files that a fix changes, as they would be."""
    from shapewright.source.editing import apply_edits

    texts: dict[str, str] = {}
    for file in {edit.span.file for edit in fix.edits}:
        text = program.text(file)
        if text is None:
            return None
        edits = [edit for edit in fix.edits if edit.span.file == file]
        texts[os.path.abspath(file)] = apply_edits(
            text.text, [(edit.span, edit.text) for edit in edits]
        )
    return texts
