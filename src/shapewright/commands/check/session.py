"""Check a program: run it, explain its errors, repair it in memory, and
run it further.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from shapewright.analysis.fixes import GUESSED
from shapewright.analysis.hazards import (
    find_dependent_places,
    find_hazards,
    is_ignored_here,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes import find_mistakes
from shapewright.commands.check.behind_errors import (
    SEEN_ABOVE,
    is_known_of_trials,
    is_unjudged,
    list_warnings_behind,
    mend_errors,
)
from shapewright.commands.check.earlier_hazards import (
    add_causes,
    is_told_as_cause,
)
from shapewright.commands.check.fix_trials import (
    FIRST_OF_LONG,
    NOWHERE,
    SHOWN,
    FixTrials,
    has_many_calls,
)
from shapewright.commands.check.fixes import (
    Overlay,
    is_at,
    list_failures,
    write_fix,
)
from shapewright.commands.check.new_findings import NewFindings, Reported
from shapewright.commands.check.original_lines import (
    OriginalLines,
    list_failed_lines,
)
from shapewright.commands.check.tried_fixes import (
    Mend,
)
from shapewright.commands.check.warning_fixes import (
    WarningTrials,
    count_codes,
    is_mended_by,
    mend_warnings,
)
from shapewright.findings.codes import (
    CODES,
    DRAWN_INDEX,
    LOSS_SHAPES,
    ONE_SAMPLE,
    OUTER_BROADCAST,
)
from shapewright.findings.finding import Finding, Fix
from shapewright.program.spans import Span
from shapewright.record.report import Report

ROUNDS = 4
"""How often a program that ended at an error is mended and run again."""
ACCIDENTAL = frozenset({LOSS_SHAPES, ONE_SAMPLE, OUTER_BROADCAST})
"""Codes of shapes that meet by accident."""


@dataclass(slots=True)
class Session(FixTrials):
    """Runs the program with changed text: `again` whole, `attempt` in short.

    Both run in a child process; without them no fix is tried. `ignored` are codes of
    hazards that are switched off; `strict` adds a note for every implicit broadcast.
    """

    again: Callable[[Overlay], Program | None] | None = None
    first: bool = False
    ignored: Collection[str] = ()
    strict: bool = False
    places: dict[Span | None, int] = field(default_factory=dict)  # as first told

    def report(self) -> Report:
        """Return all independent findings, including those behind an error that ends
        the run.
        """
        program: Program | None = self.program
        complete = False
        for turn in range(ROUNDS):
            assert program is not None
            fresh = self.fresh(program, alone=turn > 0 and not complete)
            self.told += fresh
            complete = complete or program.trace.complete
            if self.first and self.told:
                break
            if program.trace.complete:
                program = self.behind(program, fresh)
            elif self.is_all_mended(fresh):
                complete, program = True, None
            else:
                program = self.mended(program, fresh)
            if program is None:
                break
        self.repeat()
        self.confirm(complete)
        trace = self.program.trace
        shown = [(self.shown(entry), n) for n, entry in enumerate(self.told)]
        shown.sort(key=lambda entry: self.places.get(entry[0].span, entry[1]))
        findings = tuple(f for f, _ in shown if not self.is_ignored(f))
        if not (self.first and findings):
            warnings = find_hazards(self.program, self.ignored, self.strict)
            if self.program.rehearsal is not None:
                story = self.program.rehearsal
                warnings += find_mistakes(self.program, story, self.ignored)
            trials = WarningTrials(
                self.program,
                self.attempt,
                self.room(),
                self.ignored,
                self.strict,
            )
            error_spans = {
                finding.span for finding in findings if finding.severity == "error"
            }
            failed = {place[:2] for place in list_failures(self.program)}
            before = count_codes(  # those among them that are not told of
                finding
                for finding in warnings
                if finding.span is None
                or (finding.span.file, finding.span.line) not in failed
            )
            warnings = [
                finding
                for finding in warnings
                if finding.span not in error_spans
                and not is_told_as_cause(finding, findings)
                and not self.is_removed(finding)
            ]
            mended = mend_warnings(trials, warnings, before)
            findings += tuple(w for w in mended if not is_mended_by(w, findings))
            behind = self.list_behind(trials, findings)
            twins = {(finding.code, finding.span) for finding in behind}
            findings = tuple(f for f in findings if (f.code, f.span) not in twins)
            findings += tuple(f for f in behind if not is_told_as_cause(f, findings))
        if self.first:
            findings = findings[:1]
        return Report(trace.target, findings, tuple(trace.assumptions), complete, trace)

    def list_behind(
        self, trials: WarningTrials, known: Sequence[Finding]
    ) -> list[Finding]:
        """Return the warnings that only the program without its errors has; none if
        anything fails with their fixes but what has none, or a run takes long.
        """
        if self.again is None or not self.told or self.is_long:
            return []
        overlay = mend_errors(self.program, self.told, self.texts)
        if not overlay or (
            not self.strict
            and not is_unjudged(self.program, known)
            and is_known_of_trials(self.told, overlay, known, self.ignored)
        ):
            return []
        program = self.again(overlay)
        if program is None or not program.trace.complete:
            return []
        bare = {reported.place[:2] for reported in self.told if not reported.mends}
        if not {place[:2] for place in list_failures(program)} <= bare:
            return []
        trials = replace(trials, program=program, room=self.room())
        return list_warnings_behind(self.program, trials, overlay, known)

    def fresh(self, program: Program, alone: bool) -> list[Reported]:
        """Return the findings of a run that no earlier run had, each with its repairs.

        Behind a mend only the first is told, `alone`: the mend may not be what was
        meant, and then the rest follows from it.
        """
        dependent = find_dependent_places(program)
        is_mended = program is not self.program
        where = OriginalLines(self.program, program) if is_mended else None
        run = NewFindings(program, self.told, self.crowded, where)
        for reported, options in run.iterate(alone):
            run.fresh.append(reported)
            reported.mended = program if program is not self.program else None
            reported.deferred = self.is_deferred(program, run.fresh, dependent)
            if options and not reported.deferred:
                met = {entry.place[:2] for entry in (*self.told, *run.fresh[:-1])}
                waiting = {p[:2] for p in list_failures(program)} - met
                self.try_fixes(program, reported, options, max(1, len(waiting)))
        return run.fresh

    def mended(self, program: Program, fresh: list[Reported]) -> Program | None:
        """Run the program again with the best fix of the error that ended it; what is
        behind it has a few tries, also where this error has used up all.
        """
        if self.again is None or (self.is_long and not self.left):
            return None
        self.left = max(self.left, FIRST_OF_LONG)
        last = list_failures(program)[-1] if list_failures(program) else None
        ended = [
            reported
            for reported in fresh
            if reported.mends and last and is_at(reported.place, last, self.crowded)
        ] or [
            reported
            for reported in fresh
            if reported.mends and reported.mends[0].tried.complete
        ]
        if not ended:
            likely = fresh if program is not self.program else fresh[:1]
            ended = [reported for reported in likely if reported.mends]
        if not ended:
            return None
        overlay = write_fix(program, ended[0].mends[0].fix, self.texts)
        if overlay is None:
            return None
        self.texts = overlay
        ended[0].carried = True
        rerun = self.again(overlay)
        if rerun is not None and program is self.program:
            self.drop_followers(rerun, fresh)
        return rerun

    def drop_followers(self, rerun: Program, fresh: list[Reported]) -> None:
        """Forget the errors without a fix that a run with that of another has as well,
        or has not, though it comes further: they are told as they are there. So is what
        ended the run, where no fix let it come to an end.
        """
        failed = list_failed_lines(self.program, rerun)
        further = len(rerun.trace.ops) > len(self.program.trace.ops)
        self.forget(
            [
                reported
                for reported in fresh
                if (reported.deferred or self._is_bare_end(reported))
                and (further or rerun.trace.complete or reported.place[:2] in failed)
            ]
        )

    def _is_bare_end(self, reported: Reported) -> bool:
        """Return whether an error ended the first run, and no fix of it was kept."""
        return not reported.mends and reported.place == reported.last

    def forget(self, waiting: list[Reported]) -> None:
        """Forget errors that a run with fixes tells anew, but not where they stood."""
        for n, reported in enumerate(self.told):
            self.places[reported.finding.span] = n
        self.told = [reported for reported in self.told if reported not in waiting]

    def is_all_mended(self, fresh: list[Reported]) -> bool:
        """Return whether the trial of the only error's fix has shown all that a whole
        run with it would, and note the fix as part of the program.
        """
        if len(self.told) != 1 or len(fresh) != 1 or not fresh[0].mends:
            return False
        best = fresh[0].mends[0]
        if (
            not best.tried.is_clean
            or self.again is None
            or has_many_calls(self.program)
        ):
            return False
        self.texts, fresh[0].carried = dict(best.texts), True
        return True

    def behind(self, program: Program, fresh: list[Reported]) -> Program | None:
        """Run the program with all repairs, and return it if another failure remains.

        What only seemed to follow from another error, and fails without it too, is an
        error of its own. What no fix was found of is looked at without the others.
        """
        mended_findings = [
            reported
            for reported in fresh
            if reported.mends and reported.mends[0].tried.complete
        ]
        if self.again is None or not mended_findings:
            return None
        lines = {reported.place[:2] for reported in self.told}
        left = set.intersection(
            *(
                {p for p in reported.mends[0].moved.failures if p[:2] not in lines}
                for reported in mended_findings
            )
        )
        bare = [reported for reported in fresh if reported.deferred]
        left |= {
            reported.place
            for reported in mended_findings
            if reported.place in reported.mends[0].moved.failures
        }
        overlay = (
            mend_errors(program, mended_findings, self.texts) if left or bare else None
        )
        if overlay is None:
            return None
        rerun = self.again(overlay)
        if rerun is None or not rerun.trace.complete:
            return None
        failed = list_failed_lines(program, rerun)
        waiting = [reported for reported in bare if reported.place[:2] in failed]
        if not waiting and not failed & {place[:2] for place in left}:
            return None
        self.forget(waiting)
        self.texts = overlay
        for reported in mended_findings:
            reported.carried = True
        return rerun

    def repeat(self) -> None:
        """Rerun the best repair of every finding, alone in a process if it was not.

        One that gives something else there is left out.
        """
        waiting = [reported for reported in self.told if reported.is_to_repeat]
        while waiting and self.attempt is not None:
            firsts = [reported.mends[0] for reported in waiting]
            gone = [self.ending(r, r.mends[0].option) for r in waiting]
            runs = self.attempt([mend.texts for mend in firsts], gone, True)
            again = []
            for reported, mend, run in zip(waiting, firsts, runs, strict=True):
                tried = mend.tried
                if (run.complete, run.failures) != (tried.complete, tried.failures):
                    del reported.mends[0]
                    again.append(reported)
            waiting = [reported for reported in again if reported.is_to_repeat]

    def confirm(self, complete: bool) -> None:
        """Determine whether the best fixes of all findings together let the program run
        to its end.
        """
        if self.attempt is None or len(self.told) < 2:
            return
        carried = list(itertools.takewhile(lambda first: first.carried, self.told))
        chain = self.told[: len(carried) + 1]
        ends = [
            place
            for place, reported in enumerate(chain)
            if reported.mends and reported.mends[0].tried.complete
        ]
        for reported in carried[: max(ends, default=0)]:
            reported.mark_complete()  # it is part of the run that went on to its end
        firsts = [reported.mends[0] for reported in self.told if reported.mends]
        if all(m.tried.complete for reported in self.told for m in reported.mends[:1]):
            return
        if len(firsts) < len(self.told):
            return
        overlay = mend_errors(self.program, self.told, self.texts)
        if overlay is None:
            return
        (tried,) = self.attempt([overlay], [NOWHERE], True)
        if tried.complete and not tried.failures:
            for reported in self.told:
                reported.mark_complete()

    def shown(self, reported: Reported) -> Finding:
        """Return the finding with its fixes, as edits of the original program."""
        fixes = [
            replace(mend.fix, checked=True)
            for mend in reported.mends
            if self.is_shown(mend) and self.is_of_original(mend.fix)
        ]
        finding = replace(reported.finding, fixes=tuple(fixes[:SHOWN]))
        if reported.mended is not None:
            lines = OriginalLines(self.program, reported.mended)
            finding = lines.move(finding) or finding
            if self.is_on_changed_line(reported.mended, reported.finding, finding):
                finding = replace(finding, lines=(*finding.lines, SEEN_ABOVE))
        finding = add_causes(finding, reported.hazards, fixes[0] if fixes else None)
        if reported.untried and not finding.fixes:
            count = reported.untried
            ways = (
                "1 way to fix it was" if count == 1 else f"{count} ways to fix it were"
            )
            note = f"{ways} not tried: the limit of tries was reached"
            finding = replace(finding, lines=(*finding.lines, note))
        if finding.severity == "error" and is_ignored_here(self.program, finding):
            note = (
                f"`ignore[{finding.code}]` has no effect: errors cannot be switched off"
            )
            finding = replace(finding, lines=(*finding.lines, note))
        return finding

    def is_on_changed_line(
        self, mended: Program, seen: Finding, shown: Finding
    ) -> bool:
        """Return whether an error of a run with fixes is on a line that they change, so
        that its words name what the file does not have there.
        """
        if seen.span is None or shown.span is None:
            return False
        new, old = mended.text(seen.span.file), self.program.text(shown.span.file)
        if new is None or old is None:
            return False
        return new.lines[seen.span.line - 1] != old.lines[shown.span.line - 1]

    def is_shown(self, mend: Mend) -> bool:
        """Return whether the program comes to its end with a repair, or to an error
        that no repair was found of, from which others may follow.
        """
        bare = {reported.place[:2] for reported in self.told if not reported.mends}
        first = () if mend.option.kind in GUESSED else mend.moved.failures[:1]
        return mend.tried.complete or any(place[:2] in bare for place in first)

    def is_removed(self, warning: Finding) -> bool:
        """Return whether shapes that meet by accident, or indices beyond the end, are
        gone with the best repair of an error: they follow from the same mistake.
        """
        firsts = [reported.mends[0].tried for reported in self.told if reported.mends]
        if warning.code not in (*ACCIDENTAL, DRAWN_INDEX):
            return False
        line = (warning.span.file, warning.span.line) if warning.span else None
        return any(
            tried.complete
            and not any(
                warning.code != DRAWN_INDEX or failure[:2] == line
                for failure in tried.failures
            )
            and all(place[2] != warning.code for place in tried.warnings)
            for tried in firsts
        )

    def is_ignored(self, finding: Finding) -> bool:
        """Return whether a finding noted by a run, such as a loop over elements, is
        switched off.
        """
        if not CODES[finding.code].is_switchable:
            return False
        return finding.code in self.ignored or is_ignored_here(self.program, finding)

    def is_of_original(self, fix: Fix) -> bool:
        """Return whether a fix changes only lines that were not repaired before."""
        for edit in fix.edits:
            changed = self.texts.get(os.path.abspath(edit.span.file))
            text = self.program.text(edit.span.file)
            if changed is None or text is None:
                continue
            lines = slice(edit.span.line - 1, edit.span.end_line)
            if text.lines[lines] != changed.split("\n")[lines]:
                return any(mend.fix is fix for t in self.told for mend in t.mends[:1])
        return True
