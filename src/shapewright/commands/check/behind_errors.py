"""Silent mistakes behind errors: warnings of the program with the best fix of each of
its errors, which the run without them says nothing of.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from shapewright.analysis.hazards import find_hazards
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes import find_mistakes
from shapewright.commands.check.fixes import Overlay
from shapewright.commands.check.new_findings import Reported
from shapewright.commands.check.original_lines import OriginalLines
from shapewright.commands.check.warning_fixes import WarningTrials, mend_warnings
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding, Fix
from shapewright.program.spans import Span, apply_edits

SEEN = "seen in a run with the first fix of each error"


def list_warnings_behind(
    original: Program, trials: WarningTrials, overlay: Overlay, known: Sequence[Finding]
) -> list[Finding]:
    """Return the warnings that only the program of `trials` has, which runs with the
    fixes of the errors (`overlay`), at their places in the original text.
    """
    program = trials.program
    warnings = find_hazards(program, trials.ignored, trials.strict)
    if program.rehearsal is not None:
        warnings += find_mistakes(program, program.rehearsal, trials.ignored)
    lines = OriginalLines(original, program)
    places = {(finding.code, finding.span) for finding in known}
    failed = {finding.line for finding in known if finding.severity == "error"}
    new = []
    for finding in warnings:
        span = lines.find_line(finding.span)
        if span is None or (finding.code, span) in places:
            continue
        if finding.code != RESULT_DROPPED or span.line not in failed:
            new.append(finding)  # nobody reads what is refused
    before = Counter(finding.code for finding in warnings)
    edit = partial(_edit_mended, program, overlay)
    mended = mend_warnings(replace(trials, edit=edit), new, before)
    moved = (lines.move(finding) for finding in mended)
    return [
        replace(finding, lines=(*finding.lines, SEEN)) for finding in moved if finding
    ]


def mend_errors(
    program: Program, errors: Sequence[Reported], texts: Overlay
) -> dict[str, str] | None:
    """Return the texts with the best fix of each error that has one; None if two of
    them change the same place. `texts` have those that were carried on.
    """
    overlay = dict(texts)
    edits: dict[str, list[tuple[Span, str]]] = {}
    for reported in errors:
        of_program = reported.mended or program
        for mend in () if reported.carried else reported.mends[:1]:
            for edit in mend.fix.edits:
                text = of_program.text(edit.span.file)
                path = os.path.abspath(edit.span.file)
                if text is None:
                    return None
                now = overlay.setdefault(path, text.text).split("\n")
                lines = slice(edit.span.line - 1, edit.span.end_line)
                if text.lines[lines] != now[lines]:
                    return None
                edits.setdefault(path, []).append((edit.span, edit.text))
    for path, replacements in edits.items():
        try:
            overlay[path] = apply_edits(overlay[path], dict.fromkeys(replacements))
        except AssertionError:  # they overlap
            return None
    return overlay


def _edit_mended(program: Program, overlay: Overlay, fix: Fix) -> dict[str, str] | None:
    """Return the texts without the errors, with a fix of a warning applied to them."""
    changed = dict(overlay)
    for file in {edit.span.file for edit in fix.edits}:
        text = program.text(file)
        if text is None:
            return None
        edits = [(edit.span, edit.text) for edit in fix.edits if edit.span.file == file]
        changed[os.path.abspath(file)] = apply_edits(text.text, edits)
    return changed
