"""Silent mistakes behind errors: warnings of the program with the best fix of each of
its errors, which the run without them says nothing of.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from shapewright.analysis.hazards import find_hazards
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes import find_mistakes
from shapewright.commands.check.fixes import Overlay
from shapewright.commands.check.new_findings import Reported
from shapewright.commands.check.original_lines import OriginalLines
from shapewright.commands.check.warning_fixes import WarningTrials, mend_warnings
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span, apply_edits

SEEN = "seen in a run with the first fix of each error"
SEEN_ABOVE = "seen in a run with fixes of the errors above"


def list_warnings_behind(
    original: Program, trials: WarningTrials, overlay: Overlay, known: Sequence[Finding]
) -> list[Finding]:
    """Return the warnings that only the program of `trials` has, which runs with the
    fixes of the errors (`overlay`), at their places in the original text; and those
    known that have an edit there.
    """
    program = trials.program
    warnings = find_hazards(program, trials.ignored, trials.strict)
    if program.rehearsal is not None:
        warnings += find_mistakes(program, program.rehearsal, trials.ignored)
    lines = OriginalLines(original, program)
    places = {
        (finding.code, finding.span): finding
        for finding in known
        if finding.fixes or original.trace.complete
    }
    bare = {(f.code, f.span): f for f in known if (f.code, f.span) not in places}
    failed = {finding.line for finding in known if finding.severity == "error"}
    new = []
    for finding in warnings:
        span = lines.find_line(finding.span)
        if span is None or (finding.code, span) in places:
            continue
        if finding.code != RESULT_DROPPED or span.line not in failed:
            new.append(finding)  # nobody reads what is refused
    before = Counter(finding.code for finding in warnings)
    mended = mend_warnings(replace(trials, texts=overlay), new, before)
    shown = []
    for moved in map(lines.move, mended):
        twin = bare.get((moved.code, moved.span)) if moved is not None else None
        if moved is not None and twin is None:
            shown.append(replace(moved, lines=(*moved.lines, SEEN)))
        elif moved is not None and twin is not None and moved.fixes:
            shown.append(replace(twin, fixes=moved.fixes))
    return shown


def is_unjudged(original: Program, known: Sequence[Finding]) -> bool:
    """Return whether a warning has no edit, and the run of the original program, which
    an error ended, could tell of none.
    """
    return not original.trace.complete and any(
        finding.severity == "warning" and not finding.fixes for finding in known
    )


def is_known_of_trials(
    errors: Sequence[Reported],
    overlay: Overlay,
    known: Sequence[Finding],
    ignored: Collection[str],
) -> bool:
    """Return whether a trial has run with all these texts, came to its end, and has no
    warning of a kind that is not told.
    """
    counts = Counter(finding.code for finding in known)
    for mend in (mend for reported in errors for mend in reported.mends[:1]):
        run = mend.tried
        if mend.texts == overlay and run.complete and not run.failures:
            codes = Counter(code for *_, code in (*run.warnings, *run.notes))
            return all(
                code in ignored or count <= counts[code]
                for code, count in codes.items()
            )
    return False


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
                    return _mend_originals(program, errors)
                edits.setdefault(path, []).append((edit.span, edit.text))
    for path, replacements in edits.items():
        try:
            overlay[path] = apply_edits(overlay[path], dict.fromkeys(replacements))
        except AssertionError:  # they overlap
            return None
    return overlay


def _mend_originals(
    program: Program, errors: Sequence[Reported]
) -> dict[str, str] | None:
    """Return the texts with the best fixes of errors of the first run alone, which may
    change different parts of one line; None if others are among them.
    """
    overlay: dict[str, str] = {}
    edits: dict[str, dict[tuple[Span, str], None]] = {}
    for reported in errors:
        if reported.mended is not None:
            return None
        for mend in reported.mends[:1]:
            for edit in mend.fix.edits:
                text = program.text(edit.span.file)
                if text is None:
                    return None
                path = os.path.abspath(edit.span.file)
                overlay[path] = text.text
                edits.setdefault(path, {})[edit.span, edit.text] = None
    for path, replacements in edits.items():
        try:
            overlay[path] = apply_edits(overlay[path], replacements)
        except AssertionError:  # they overlap
            return None
    return overlay
