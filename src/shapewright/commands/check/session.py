"""Check a program: run it, explain its errors, repair it in memory, and
run it further.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from shapewright.analysis import python_errors
from shapewright.analysis.collated_lists import explain_list_attribute
from shapewright.analysis.einops_errors import explain_einops
from shapewright.analysis.explanations import MOST_RELATED, explain_failures
from shapewright.analysis.fixes import (
    GUESSED,
    find_fixes,
    fix_error,
    fix_missing_value,
    fix_mistaken_call,
)
from shapewright.analysis.fixes.batch_edits import describe_single_sample
from shapewright.analysis.fixes.collate_edits import suggest_collate
from shapewright.analysis.fixes.device_edits import suggest_moves
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.ragged_items import get_collate_kind
from shapewright.analysis.fixes.refusals import (
    FailedRun,
    build_failed_outline,
    is_refused_after,
)
from shapewright.analysis.fixes.sequence_layouts import describe_layout
from shapewright.analysis.fixes.uncut_losses import describe_decisions
from shapewright.analysis.hazards import find_hazards, is_ignored_here
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.missing_values import explain_missing_value
from shapewright.analysis.mistaken_calls import (
    explain_mistaken_call,
    explain_unbuilt_class,
    suggest_built_class,
)
from shapewright.analysis.mixed_devices import explain_devices
from shapewright.analysis.model_definitions import explain_definition
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import drop_repeated, iter_line_definitions
from shapewright.analysis.state_dicts import explain_load, suggest_fixes
from shapewright.analysis.table_labels import explain_row_label
from shapewright.analysis.training_mistakes import find_mistakes
from shapewright.commands.check.earlier_hazards import (
    add_causes,
    find_hazards_before,
    is_told_as_cause,
    suggest_for_hazards,
)
from shapewright.commands.check.fixes import (
    LOAD,
    Overlay,
    Place,
    Tried,
    count_layers,
    get_finding_place,
    get_output,
    get_place,
    is_at,
    list_failures,
)
from shapewright.commands.check.tried_fixes import (
    GROUNDS,
    Crowded,
    Mend,
    choose_meant,
    count_shared_warnings,
    is_enough,
    is_helpful,
    is_output_sure,
    rank_repair,
)
from shapewright.commands.check.warning_fixes import WarningTrials, mend_warnings
from shapewright.findings.codes import (
    CODES,
    COLLATED_LIST,
    ITEMS_DO_NOT_STACK,
    MIXED_DEVICES,
    PROGRAM_ERROR,
    TORCH_ERROR,
    TUPLE_AS_TENSOR,
    UNPACKED_SIZES,
)
from shapewright.findings.finding import Finding, Fix, Related
from shapewright.operators.failed_calls import Failure
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
"""Calls of all tries together, for each call of the program's own run."""
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

Attempt = Callable[[Sequence[Overlay], Sequence[Place], bool], list[Tried]]
"""How to run the program with each of these texts, in short. A failure at its place
ends a run; with True each run has a process of its own."""


NOWHERE: Place = ("", 0, "")
"""In place of a failure at which a run may end."""


@dataclass(slots=True)
class Told:
    """A finding with the repairs that help, the best first."""

    finding: Finding
    place: Place
    mends: list[Mend] = field(default_factory=list)
    numbers: frozenset[int] = frozenset()
    untried: int = 0  # ways to mend it that had no turn
    hazards: list[Finding] = field(default_factory=list)
    carried: bool = False  # the runs behind it had its best repair
    failed: FailedRun | None = None  # what is compared with the runs with a fix

    def outline_failed(self, program: Program) -> FailedRun:
        """Return what is compared of the run with the runs with a fix."""
        if self.failed is None:
            failures = (
                f for f in program.failures if get_place(program, f) == self.place
            )
            self.failed = build_failed_outline(program, next(failures, None))
        return self.failed

    def removes(self, place: Place, crowded: Crowded) -> bool:
        """Return whether the best repair of this finding removes the failure at a
        place.

        A layer that is left out fails nowhere, which says nothing of its other calls.
        """
        if not self.mends or self.mends[0].option.kind == "left-out":
            return False
        best = self.mends[0].tried
        left = any(is_at(failure, place, crowded) for failure in best.failures)
        return best.complete and not left


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
    told: list[Told] = field(default_factory=list)
    left: int = ALL_TRIES
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
            ]
            findings += tuple(mend_warnings(trials, warnings))
        if self.first:
            findings = findings[:1]
        return Report(trace.target, findings, tuple(trace.assumptions), complete, trace)

    def fresh(self, program: Program, alone: bool) -> list[Told]:
        """Return the findings of a run that no earlier run had, each with its repairs.

        Behind a mend only the first is told, `alone`: the mend may not be what was
        meant, and then the rest follows from it.
        """
        known = {reported.place for reported in self.told}
        fresh: list[Told] = []
        lines = set()
        for span, misloaded in program.loads:
            place = (span.file, span.line, LOAD)
            if place not in known and misloaded.matched is None:
                load = explain_load(span, misloaded)
                load = replace(load, related=_collect_places(program, load))
                fresh.append(Told(load, place))
                self.tries(
                    program,
                    fresh[-1],
                    list(
                        iter_options(
                            "load", 1.0, suggest_fixes(program, span, misloaded)
                        )
                    ),
                )
        explained = [
            (finding, failures, get_place(program, failures[0]))
            for finding, failures in explain_failures(program)
        ]
        places = {place for *_, place in explained}
        mixed = [f for f in program.trace.findings if f.code == MIXED_DEVICES]
        places |= {get_finding_place(entry) for entry in mixed}
        explained = [
            entry for entry in explained if not _is_of_guessed_batch(program, entry[1])
        ]
        calls = Counter(place[:2] for place in places)
        self.crowded |= {line for line, count in calls.items() if count > 1}
        for finding, failures, place in explained:
            lines.add(place[:2])
            before = (*self.told, *fresh)
            follows = any(reported.removes(place, self.crowded) for reported in before)
            mine = _get_sizes(failures[0])
            if program is not self.program and mine:
                # The mend chose one of two sizes, and this call wants the other.
                follows |= any(reported.numbers == mine for reported in before)
            if place not in known and not follows and not (alone and fresh):
                if finding.code == TORCH_ERROR:
                    finding = python_errors.explain_signature(program, finding)
                    finding = explain_mistaken_call(program, finding)
                    finding = explain_missing_value(program, finding)
                finding = explain_unbuilt_class(program, finding)
                single = describe_single_sample(program, failures[0].op)
                single = single or describe_decisions(program, failures[0])
                single = single or describe_layout(program, failures[0])
                if single is not None:
                    finding = replace(finding, related=(single, *finding.related))
                hazards = find_hazards_before(program, failures[0])
                fresh.append(Told(finding, place, numbers=mine, hazards=hazards))
                options = suggest_for_hazards(program, hazards)
                options += iter_options(
                    "value", 0.3, suggest_built_class(program, finding)
                )
                options += find_fixes(program, failures[0])
                if finding.code == TORCH_ERROR:
                    options = [*fix_mistaken_call(program, finding), *options]
                if finding.code == TUPLE_AS_TENSOR:
                    options = list(fix_missing_value(program, finding))
                self.tries(program, fresh[-1], options)
        lines |= {get_place(program, failure)[:2] for failure in program.failures}
        for finding in program.trace.findings:
            place = get_finding_place(finding)
            line = place[:2]
            if finding.code == ITEMS_DO_NOT_STACK and place not in known:
                fresh.append(Told(finding, place))
                kind = get_collate_kind(finding)
                collate = iter_options(kind, 1.0, suggest_collate(program, finding))
                self.tries(program, fresh[-1], list(collate))
                continue
            if finding.code == MIXED_DEVICES and not (
                place in known or (alone and fresh)
            ):
                shown = explain_devices(program, finding)
                if any(_is_same_stray(shown, entry.finding) for entry in fresh):
                    continue
                fresh.append(Told(shown, place))
                moves = iter_options("move", 1.0, suggest_moves(program, finding))
                self.tries(program, fresh[-1], list(moves))
                continue
            ended = finding.code in (TORCH_ERROR, PROGRAM_ERROR)
            if (ended and line in lines) or place in known or (alone and fresh):
                continue
            if not ended or finding.severity == "note":  # rests on what was supposed
                fresh.append(Told(finding, place))
                continue
            if _is_left_by_backward(program, finding):
                continue
            if any(reported.removes(place, self.crowded) for reported in fresh):
                continue  # it does not end the run where an earlier error is mended
            own = finding.code == PROGRAM_ERROR
            shown = (
                python_errors.explain_python_error(program, finding) if own else finding
            )
            shown = python_errors.explain_signature(program, shown)
            shown = explain_definition(program, shown)
            shown = explain_einops(program, shown)
            shown = explain_missing_value(program, shown)
            shown = explain_list_attribute(program, shown)
            shown = explain_mistaken_call(program, shown)
            shown = explain_row_label(program, shown)
            if shown.code == UNPACKED_SIZES:
                single = describe_single_sample(program, None)
                first = (single,) if single is not None else ()
                shown = replace(shown, related=(*first, *shown.related))
            shown = replace(shown, related=_collect_places(program, shown))
            fresh.append(Told(shown, place))
            code = shown.code if shown.code == COLLATED_LIST else finding.code
            self.tries(
                program, fresh[-1], fix_error(program, replace(finding, code=code))
            )
        return fresh

    def tries(self, program: Program, reported: Told, options: list[FixOption]) -> None:
        """Try fixes in small batches until enough of them help."""
        if self.attempt is None:
            return
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
        reported.mends = choose_meant(program, reported.mends)[:SHOWN]

    def try_part(
        self,
        program: Program,
        reported: Told,
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
            if not is_refused_after(failed, run.outline, option.fix, guessed, turns):
                reported.mends.append(Mend(option, texts, run))

    def room(self) -> int:
        """Return how many trials the budget of calls allows, judging by past trials."""
        calls = max(1, len(self.program.trace.ops))
        errors = max(1, len(list_failures(self.program)))
        most = max(MOST_CALLS * calls, LEAST_CALLS * errors)
        if self.tried:
            calls = max(1, self.calls // self.tried)
        return max(0, min(self.left, (most - self.calls) // calls))

    def ending(self, reported: Told) -> Place:
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
            if text is None:
                return None
            changed[os.path.abspath(file)] = apply_edits(text.text, replacements)
        return changed

    def mended(self, program: Program, fresh: list[Told]) -> Program | None:
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
        if not ended:
            return None
        overlay = self.edited(program, ended[0].mends[0].fix)
        if overlay is None:
            return None
        self.texts = overlay
        ended[0].carried = True
        return self.again(overlay)

    def behind(self, program: Program, fresh: list[Told]) -> Program | None:
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
        """Rerun the best repair of every finding, alone in a process.

        One that gives something else there is left out.
        """
        waiting = [reported for reported in self.told if reported.mends]
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
            waiting = [reported for reported in again if reported.mends]

    def confirm(self, complete: bool) -> None:
        """Determine whether the best fixes of all findings together let the program run
        to its end.
        """
        if self.attempt is None or len(self.told) < 2:
            return
        last = self.told[-1].mends[:1]
        if last and last[0].tried.complete and all(t.carried for t in self.told[:-1]):
            for reported in self.told[:-1]:
                _mark_complete(reported)
            return
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
                _mark_complete(reported)

    def shown(self, reported: Told) -> Finding:
        """Return the finding with its fixes, as edits of the original program."""
        fixes = [
            replace(mend.fix, checked=True)
            for mend in reported.mends
            if mend.tried.complete and self.is_of_original(mend.fix)
        ]
        finding = replace(reported.finding, fixes=tuple(fixes[:SHOWN]))
        finding = add_causes(finding, reported.hazards, fixes[0] if fixes else None)
        if reported.untried:
            ways = "1 way" if reported.untried == 1 else f"{reported.untried} ways"
            note = f"{ways} to fix it were not tried: the limit of tries was reached"
            finding = replace(finding, lines=(*finding.lines, note))
        if finding.severity == "error" and is_ignored_here(self.program, finding):
            note = (
                f"`ignore[{finding.code}]` has no effect: errors cannot be switched off"
            )
            finding = replace(finding, lines=(*finding.lines, note))
        return finding

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


def _mark_complete(reported: Told) -> None:
    """Note that the program reaches its end with the best repair of a finding."""
    for first in reported.mends[:1]:
        tried = replace(first.tried, complete=True)
        reported.mends[0] = replace(first, tried=tried)


def _is_left_by_backward(program: Program, finding: Finding) -> bool:
    """Return whether an error only says that a refused backward pass left nothing."""
    refused = any(failure.of_history for failure in program.failures)
    return refused and "'NoneType'" in finding.message


def _is_of_guessed_batch(program: Program, failures: list[Failure]) -> bool:
    """Return whether a call failed behind a loader whose items do not stack: its batch
    was guessed.
    """
    frames = program.trace.ops[failures[0].op].frames[:1]
    for finding in program.trace.findings:
        if finding.code != ITEMS_DO_NOT_STACK or finding.span is None:
            continue
        if any(frame.span.line >= finding.span.line for frame in frames):
            return True
    return False


def _is_same_stray(finding: Finding, other: Finding) -> bool:
    """Return whether one tensor is on the wrong device in two calls on a line."""
    return (
        finding.code == other.code == MIXED_DEVICES
        and finding.related[:1] == other.related[:1] != ()
        and (finding.span is None) == (other.span is None)
    )


def _get_sizes(failure: Failure) -> frozenset[int]:
    """Return the two sizes that do not match."""
    unmet = failure.unmet
    both = (unmet.has, unmet.needs) if unmet is not None else ()
    return frozenset(size for size in both if type(size) is int)


def _collect_places(program: Program, finding: Finding) -> tuple[Related, ...]:
    """Return the places that a finding names, and those that define the names on its
    line.
    """
    known = [finding.span, *(place.span for place in finding.related)]
    more = drop_repeated(iter_line_definitions(program, finding.span), known)
    return (*finding.related, *more)[:MOST_RELATED]
