"""Edits for warnings, tried like the fixes of errors: the run with one has the warning
no more, and nothing else that it had not before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from shapewright.analysis.fixes.warnings.warning_edits import suggest_edits
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.commands.check.fixes import (
    Overlay,
    Place,
    Tried,
    list_failures,
    write_fix,
)
from shapewright.findings.codes import CODES, SCHEDULER_TOO_LONG
from shapewright.findings.finding import Finding, Fix

MOST_WARNINGS = 4
"""Warnings of a report whose edits are tried."""
LEAST_TRIES = 6
"""Edits that are tried of each, also where errors have used up their own tries."""
SHOWN = 2
"""Edits that are shown of one warning."""


@dataclass(frozen=True, slots=True)
class WarningTrials:
    """What is needed to try edits: the program, runs with other texts, how many more of
    these there may be, the codes that are switched off or, with `strict`, on, and the
    texts that the program itself runs with.
    """

    program: Program
    attempt: Callable[[Sequence[Overlay], Sequence[Place], bool], list[Tried]] | None
    room: int = 0
    ignored: Collection[str] = ()
    strict: bool = False
    texts: Overlay = field(default_factory=dict)


def mend_warnings(
    trials: WarningTrials,
    findings: Sequence[Finding],
    before: Counter[str] | None = None,
) -> list[Finding]:
    """Return the findings, warnings among them with the edits that mend them; `before`
    counts all that the program has, by their codes.
    """
    if before is None:
        before = count_codes(findings)
    mended = 0
    shown: list[Finding] = []
    for finding in findings:
        fixes: list[Fix] = []
        if _is_mended(finding) and not finding.fixes:
            options = suggest_edits(trials.program, finding)
            if options and mended < MOST_WARNINGS and trials.attempt is not None:
                mended += 1
                fixes = _try_edits(trials, finding, options, before)
        shown.append(replace(finding, fixes=tuple(fixes)) if fixes else finding)
    return shown


def count_codes(findings: Iterable[Finding]) -> Counter[str]:
    """Count the codes of warnings."""
    return Counter(finding.code for finding in findings if _is_mended(finding))


def _is_mended(finding: Finding) -> bool:
    """Return whether a finding is a warning, or an error that ends no run here."""
    if finding.code == SCHEDULER_TOO_LONG:
        return True
    return finding.severity != "error" or CODES[finding.code].severity == "warning"


def is_mended_by(warning: Finding, errors: Iterable[Finding]) -> bool:
    """Return whether the best edit for a warning is made where the best fix of an error
    is: one mistake is told of once.
    """
    best = [finding.fixes[0] for finding in (warning, *errors) if finding.fixes]
    places = [{edit.span for edit in fix.edits} for fix in best]
    return bool(warning.fixes) and any(places[0] == other for other in places[1:])


def _try_edits(
    trials: WarningTrials,
    finding: Finding,
    options: Iterable[Fix],
    before: Counter[str],
) -> list[Fix]:
    """Return the edits with which a run has a warning no more."""
    assert trials.attempt is not None
    pairs = [(fix, write_fix(trials.program, fix, trials.texts)) for fix in options]
    known = [(fix, texts) for fix, texts in pairs if texts is not None]
    known = known[: max(LEAST_TRIES, trials.room)]
    runs = trials.attempt(
        [texts for _, texts in known], [("", 0, "")] * len(known), False
    )
    failures = list_failures(trials.program)
    most = len(failures)
    line = (finding.span.file, finding.span.line) if finding.span else None
    if any(place[:2] == line for place in failures):  # its line is to fail no more
        before, most = before + Counter([finding.code]), most - 1
    complete = trials.program.trace.complete
    loses = any(run.samples is False for run in runs) and (
        HazardContext(trials.program).keeps_samples is True
    )
    helpful_fixes = [
        (replace(fix, checked=True), run.samples)
        for (fix, _), run in zip(known, runs, strict=True)
        if run.complete >= complete
        and (run.ops or not complete)
        and len(run.failures) <= most
        and not (loses and run.samples is False)
        and _has_gone(finding.code, run, before, trials.ignored)
    ]
    better = any(samples for _, samples in helpful_fixes)
    return [fix for fix, samples in helpful_fixes if samples or not better][:SHOWN]


def _has_gone(
    code: str, run: Tried, before: Counter[str], ignored: Collection[str]
) -> bool:
    """Return whether a run has fewer findings of a code, and no more of any other that
    is reported.
    """
    failed = {place[:2] for place in run.failures}  # where an error is told of
    places = [place for place in (*run.warnings, *run.notes) if place[:2] not in failed]
    codes = [place[2] for place in places]
    after = Counter(code for code in codes if code not in ignored)
    return after[code] < before[code] and all(
        after[other_code] <= before[other_code] for other_code in after
    )
