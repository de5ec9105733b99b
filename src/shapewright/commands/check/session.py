"""Check a program: run it, explain its errors, repair it in memory, and
run it further.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from shapewright.analysis.fixes import (
    GUESSED,
)
from shapewright.analysis.fixes.options import FixOption
from shapewright.analysis.fixes.refusals import (
    is_refused_after,
)
from shapewright.analysis.hazards import find_hazards, is_ignored_here
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes import find_mistakes
from shapewright.commands.check.earlier_hazards import (
    add_causes,
    is_told_as_cause,
)
from shapewright.commands.check.fixes import (
    Overlay,
    Place,
    Tried,
    count_layers,
    get_output,
    is_at,
    list_failures,
)
from shapewright.commands.check.new_findings import NewFindings, Reported
from shapewright.commands.check.tried_fixes import (
    GROUNDS,
    Mend,
    choose_meant,
    count_shared_warnings,
    drop_last_resorts,
    is_enough,
    is_helpful,
    is_output_sure,
    rank_repair,
)
from shapewright.commands.check.warning_fixes import WarningTrials, mend_warnings
from shapewright.findings.codes import CODES, LOSS_SHAPES, ONE_SAMPLE, OUTER_BROADCAST
from shapewright.findings.finding import Finding, Fix
from shapewright.program.spans import Span, apply_edits
from shapewright.record.report import Report

ROUNDS = 4
"""How often a program that ended at an error is mended and run again."""
SHOWN = 3
"""Fixes that are shown of one finding."""
AT_ONCE = (8, 16, 32)
"""Tries after which it is asked whether there is one that is likely meant."""
FIRST_OF_LONG = 3
"""So many first tries of a run of more calls than `LONG_RUN`: each takes a while."""
LONG_RUN = 300
ALL_TRIES = 240
"""Tries of all findings."""
MOST_CALLS = 20
"""Calls of all tries together, for each call of the program's longest run."""
LEAST_CALLS = 3_000
"""Calls that the tries of a small program may make all the same, for each error."""


MOST_SECONDS = 8.0
"""Time for the tries of one finding; what is left untried is counted in the report."""
ALL_SECONDS = 40.0
"""Time for all tries."""
TOGETHER = 8
"""Tries between two looks at the clock."""

UNCOUNTED = frozenset({"left-out", "definition", "value"})
"""Kinds of fixes with which fewer layers may run."""

ACCIDENTAL = frozenset({LOSS_SHAPES, ONE_SAMPLE, OUTER_BROADCAST})
"""Codes of shapes that meet by accident."""

Attempt = Callable[[Sequence[Overlay], Sequence[Place], bool], list[Tried]]
"""How to run the program with each of these texts, in short. A failure at its place
ends a run; with True each run has a process of its own."""


NOWHERE: Place = ("", 0, "")
"""In place of a failure at which a run may end."""


@dataclass(slots=True)
class Session:
    """Runs the program with changed text: `again` whole, `attempt` in short.

    Both run in a child process; without them no fix is tried. `ignored` are codes of
    hazards that are switched off; `strict` adds a note for every implicit broadcast.
    """

    program: Program
    again: Callable[[Overlay], Program | None] | None = None
    attempt: Attempt | None = None
    first: bool = False
    ignored: Collection[str] = ()
    strict: bool = False
    texts: dict[str, str] = field(default_factory=dict)
    told: list[Reported] = field(default_factory=list)
    left: int = ALL_TRIES
    longest: int = 0  # calls of the longest run, with the fixes so far
    calls: int = 0  # that all tries made
    tried: int = 0  # how many there were
    seconds: float = 0.0  # that they took
    crowded: set[tuple[str, int]] = field(default_factory=set)

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
        shown = (self.shown(finding) for finding in self.told)
        findings = tuple(finding for finding in shown if not self.is_ignored(finding))
        if not (self.first and findings):
            warnings = find_hazards(self.program, self.ignored, self.strict)
            if self.program.rehearsal is not None:
                story = self.program.rehearsal
                warnings += find_mistakes(self.program, story, self.ignored)
            trials = WarningTrials(
                self.program,
                self.edit_original,
                self.attempt,
                self.room(),
                self.ignored,
            )
            error_spans = {
                finding.span for finding in findings if finding.severity == "error"
            }
            warnings = [
                finding
                for finding in warnings
                if finding.span not in error_spans
                and not is_told_as_cause(finding, findings)
                and not self.is_removed(finding)
            ]
            findings += tuple(mend_warnings(trials, warnings))
        if self.first:
            findings = findings[:1]
        return Report(trace.target, findings, tuple(trace.assumptions), complete, trace)

    def fresh(self, program: Program, alone: bool) -> list[Reported]:
        """Return the findings of a run that no earlier run had, each with its repairs.

        Behind a mend only the first is told, `alone`: the mend may not be what was
        meant, and then the rest follows from it.
        """
        run = NewFindings(program, self.told, self.crowded, program is not self.program)
        for reported, options in run.iterate(alone):
            run.fresh.append(reported)
            if options:
                self.tries(program, reported, options)
        return run.fresh

    def tries(
        self, program: Program, reported: Reported, options: list[FixOption]
    ) -> None:
        """Try fixes in small batches until enough of them help."""
        if self.attempt is None:
            return
        self.longest = max(self.longest, len(program.trace.ops))
        before = list_failures(program)
        doubtful = any(option.kind == "flattened" for option in options)
        sure = is_output_sure(program) and not doubtful
        wanted = get_output(program) if sure else None
        pairs = [(option, self.edited(program, option.fix)) for option in options]
        known = [(option, texts) for option, texts in pairs if texts is not None]
        start, enough, began = 0, False, self.seconds
        at_once: tuple[int, ...] = AT_ONCE
        if len(program.trace.ops) > LONG_RUN:
            at_once = (FIRST_OF_LONG, *AT_ONCE)
        for turn, count in enumerate(at_once):
            some = known[start : start + min(count, self.room())]
            limit = min(began + MOST_SECONDS, ALL_SECONDS)
            while some and self.seconds < limit:
                part, some = some[:TOGETHER], some[TOGETHER:]
                start += len(part)
                self.try_part(program, reported, part, before)
            short = len(known[start:]) > 0 and bool(some)
            shared = count_shared_warnings(reported.mends)
            reported.mends.sort(key=lambda m: rank_repair(m, before, wanted, shared))
            enough = bool(reported.mends) and is_enough(
                reported.mends[0], before, wanted, turn, shared
            )
            if enough and reported.mends[0].loses_samples:
                enough = not HazardContext(program).keeps_samples
            if enough:
                break
            if short or start >= len(known) or not self.room():
                break
        reported.untried = 0 if enough else len(known) - start
        reported.mends = drop_last_resorts(reported.mends)
        loses = any(mend.loses_samples for mend in reported.mends)
        if loses and HazardContext(program).keeps_samples:
            # What drops or merges the samples is no fix.
            reported.mends = [m for m in reported.mends if not m.loses_samples]
        shared = count_shared_warnings(reported.mends)
        ranks = [
            rank_repair(m, before, wanted, shared)[:GROUNDS] for m in reported.mends
        ]
        reported.mends = [
            mend
            for mend, option in zip(reported.mends, ranks, strict=True)
            if option == ranks[0]
        ]
        code = reported.finding.code
        reported.mends = choose_meant(program, reported.mends, code)[:SHOWN]

    def try_part(
        self,
        program: Program,
        reported: Reported,
        part: list[tuple[FixOption, dict[str, str]]],
        before: tuple[Place, ...],
    ) -> None:
        """Try a few fixes at the same time, and keep those that help."""
        assert self.attempt is not None
        began = time.perf_counter()
        self.left -= len(part)
        gone = [self.ending(reported)] * len(part)
        runs = self.attempt([texts for _, texts in part], gone, False)
        self.calls += sum(run.ops for run in runs)
        self.tried += len(runs)
        self.seconds += time.perf_counter() - began
        layers = count_layers(program)
        failed = reported.outline_failed(program)
        for (option, texts), run in zip(part, runs, strict=True):
            least = 0 if option.kind in UNCOUNTED else layers
            if not is_helpful(
                run, reported.place, before, program, self.crowded, least
            ):
                continue
            guessed, turns = option.kind in GUESSED, option.kind == "layout"
            of_batch = option.kind == "any-batch"  # it changes what is made for it
            if of_batch or not is_refused_after(
                failed, run.outline, option.fix, guessed, turns
            ):
                reported.mends.append(Mend(option, texts, run))

    def room(self) -> int:
        """Return how many trials the budget of calls allows, judging by past trials."""
        calls = max(1, self.longest, len(self.program.trace.ops))
        errors = max(1, len(list_failures(self.program)), len(self.told) + 1)
        most = max(MOST_CALLS * calls, LEAST_CALLS * errors)
        if self.tried:
            calls = max(1, self.calls // self.tried)
        return max(0, min(self.left, (most - self.calls) // calls))

    def ending(self, reported: Reported) -> Place:
        """Return the failure at which a trial may stop, or `NOWHERE` if its line has
        several.
        """
        return NOWHERE if reported.place[:2] in self.crowded else reported.place

    def edited(self, program: Program, fix: Fix) -> dict[str, str] | None:
        """Return the texts with a fix applied on top of the repairs so far, or None."""
        changed = dict(self.texts)
        for file in {edit.span.file for edit in fix.edits}:
            path = os.path.abspath(file)
            text = program.text(file)
            if text is None or (path in changed and changed[path] != text.text):
                return None
            edits = [(e.span, e.text) for e in fix.edits if e.span.file == file]
            changed[path] = apply_edits(text.text, edits)
        return changed

    def edit_original(self, fix: Fix) -> dict[str, str] | None:
        """Return the texts of the program with a single fix applied."""
        edits: dict[str, list[tuple[Span, str]]] = {}
        for edit in fix.edits:
            edits.setdefault(edit.span.file, []).append((edit.span, edit.text))
        changed = {}
        for file, replacements in edits.items():
            text = self.program.text(file)
            if text is None or len({place for place, _ in replacements}) < len(edits):
                return None
            changed[os.path.abspath(file)] = apply_edits(text.text, replacements)
        return changed

    def mended(self, program: Program, fresh: list[Reported]) -> Program | None:
        """Run the program again with the best fix of the error that ended it."""
        if self.again is None or not self.left:
            return None
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
        if not ended and program is not self.program:
            ended = [reported for reported in fresh if reported.mends]
        if not ended:
            return None
        overlay = self.edited(program, ended[0].mends[0].fix)
        if overlay is None:
            return None
        self.texts = overlay
        ended[0].carried = True
        return self.again(overlay)

    def is_all_mended(self, fresh: list[Reported]) -> bool:
        """Return whether the trial of the only error's fix has shown all that a whole
        run with it would, and note the fix as part of the program.
        """
        if len(self.told) != 1 or len(fresh) != 1 or not fresh[0].mends:
            return False
        best = fresh[0].mends[0]
        overlay = self.edited(self.program, best.fix) if best.tried.is_clean else None
        if overlay is None or self.again is None:
            return False
        self.texts, fresh[0].carried = overlay, True
        return True

    def behind(self, program: Program, fresh: list[Reported]) -> Program | None:
        """Run the program with all repairs, and return it if another failure remains.

        What only seemed to follow from another error, and fails without it too, is an
        error of its own.
        """
        mended_findings = [
            reported
            for reported in fresh
            if reported.mends and reported.mends[0].tried.complete
        ]
        if self.again is None or not self.left or not mended_findings:
            return None
        lines = {reported.place[:2] for reported in self.told}
        left = set.intersection(
            *(
                {p for p in reported.mends[0].tried.failures if p[:2] not in lines}
                for reported in mended_findings
            )
        )
        overlay = (
            self.together([reported.mends[0].fix for reported in mended_findings])
            if left
            else None
        )
        if overlay is None:
            return None
        rerun = self.again(overlay)
        if rerun is None or not rerun.trace.complete:
            return None
        if not {place[:2] for place in list_failures(rerun)} & {
            reported[:2] for reported in left
        }:
            return None
        self.texts = overlay
        return rerun

    def together(self, fixes: list[Fix]) -> dict[str, str] | None:
        """Return the texts with several fixes applied, or None if these touch the same
        place.
        """
        overlay = dict(self.texts)
        edits: dict[str, list[tuple[Span, str]]] = {}
        for fix in fixes:
            for edit in fix.edits:
                edits.setdefault(edit.span.file, []).append((edit.span, edit.text))
        for file, replacements in edits.items():
            path, text = os.path.abspath(file), self.program.text(file)
            if text is None or path in overlay:
                return None
            try:
                overlay[path] = apply_edits(text.text, dict.fromkeys(replacements))
            except AssertionError:
                return None
        return overlay

    def repeat(self) -> None:
        """Rerun the best repair of every finding, alone in a process if it was not.

        One that gives something else there is left out.
        """
        waiting = [reported for reported in self.told if reported.is_to_repeat]
        while waiting and self.attempt is not None:
            firsts = [reported.mends[0] for reported in waiting]
            gone = [self.ending(reported) for reported in waiting]
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
        overlay = self.together([mend.fix for mend in firsts])
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
            if mend.tried.complete and self.is_of_original(mend.fix)
        ]
        finding = replace(reported.finding, fixes=tuple(fixes[:SHOWN]))
        finding = add_causes(finding, reported.hazards, fixes[0] if fixes else None)
        if reported.untried:
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

    def is_removed(self, warning: Finding) -> bool:
        """Return whether shapes that meet by accident are gone with the best repair of
        an error: they follow from the same mistake.
        """
        if warning.code not in ACCIDENTAL:
            return False
        firsts = [reported.mends[0].tried for reported in self.told if reported.mends]
        return any(
            tried.complete
            and not tried.failures
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
