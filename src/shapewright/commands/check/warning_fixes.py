"""Edits for warnings, tried like the fixes of errors: the run with one has the warning no
more, and nothing else that it had not before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shapewright.analysis.fixes.warning_edits import suggest_edits
from shapewright.commands.check.fixes import Tried, list_failures
from shapewright.findings.finding import Finding, Fix

if TYPE_CHECKING:
    from shapewright.commands.check.session import Session

MOST_WARNINGS = 4
"""Warnings of a report whose edits are tried."""
LEAST_TRIES = 6
"""Edits that are tried of each, also where errors have used up their own tries."""
SHOWN = 2
"""Edits that are shown of one warning."""


def mend_warnings(session: Session, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, warnings among them with the edits that mend them."""
    before = Counter(each.code for each in findings if each.severity != "error")
    mended = 0
    shown: list[Finding] = []
    for finding in findings:
        fixes: list[Fix] = []
        if finding.severity != "error" and not finding.fixes:
            options = suggest_edits(session.program, finding)
            if options and mended < MOST_WARNINGS and session.attempt is not None:
                mended += 1
                fixes = _try_edits(session, finding, options, before)
        shown.append(replace(finding, fixes=tuple(fixes)) if fixes else finding)
    return shown


def _try_edits(
    session: Session, finding: Finding, options: Iterable[Fix], before: Counter[str]
) -> list[Fix]:
    """Return the edits with which a run has a warning no more."""
    assert session.attempt is not None
    pairs = [(fix, session.edit_original(fix)) for fix in options]
    known = [(fix, texts) for fix, texts in pairs if texts is not None]
    known = known[: max(LEAST_TRIES, session.room())]
    runs = session.attempt(
        [texts for _, texts in known], [("", 0, "")] * len(known), False
    )
    failed = len(list_failures(session.program))
    complete = session.program.trace.complete
    return [
        replace(fix, checked=True)
        for (fix, _), run in zip(known, runs, strict=True)
        if run.complete >= complete
        and (run.ops or not complete)
        and len(run.failures) <= failed
        and _has_gone(finding.code, run, before)
    ][:SHOWN]


def _has_gone(code: str, run: Tried, before: Counter[str]) -> bool:
    """Return whether a run has fewer findings of a code, and no more of any other."""
    after = Counter(place[2] for place in (*run.warnings, *run.notes))
    return after[code] < before[code] and all(
        after[each] <= before[each] for each in after
    )
