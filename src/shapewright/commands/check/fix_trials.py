"""Trials of the edits for an error: some at a time, until enough of them help."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from shapewright.analysis.fixes import (
    GUESSED,
)
from shapewright.analysis.fixes.options import FixOption
from shapewright.analysis.fixes.refusals import (
    is_refused_after,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.commands.check.fixes import (
    Gone,
    Overlay,
    Place,
    Refused,
    Tried,
    get_output,
    is_at,
    list_failures,
    list_operands,
    list_refusals,
    write_fix,
)
from shapewright.commands.check.new_findings import Reported
from shapewright.commands.check.original_lines import move_tried
from shapewright.commands.check.tried_fixes import (
    EXPLAINED,
    FOLLOWING,
    GROUNDS,
    HEEDING,
    Mend,
    choose_meant,
    count_shared_warnings,
    drop_last_resorts,
    drop_unended,
    is_enough,
    is_helpful,
    is_output_sure,
    rank_repair,
)
from shapewright.program.spans import Span

SHOWN = 3
"""Fixes that are shown of one finding."""
AT_ONCE = (8, 16, 32)
"""Tries after which it is asked whether there is one that is likely meant."""
FIRST_OF_LONG = 3
"""So many first tries of a run of more calls than `LONG_RUN`: each takes a while."""
LONG_RUN = 300
MANY_CALLS = 10_000
"""Calls of a run whose trials have one turn of each loop, if they end, and of which the
first edit that helps is enough: a matching for each sample, in a few epochs, makes so
many.
"""
LEAST_SHARE = 8
"""Tries that each of several errors gets."""
ALL_TRIES = 240
"""Tries of all findings."""
MOST_CALLS = 20
"""Calls of all tries together, for each call of the program's longest run."""
LEAST_CALLS = 3_000
"""Calls that the tries of a small program may make all the same, for each error."""


CALLS_OF_ERROR = 60_000
"""Calls that the tries of an error of a script may make; of so many errors, at most."""
MOST_ERRORS = 3
FEWEST_TRIES = 6
VERY_LONG = 10.0
"""Seconds of a run of which only the likeliest repairs are tried, and that is not made
once more for its warnings.
"""
TRIES_OF_VERY_LONG = 3
MOST_SECONDS = 8.0
"""Time for the tries of one finding; what is left untried is counted in the report."""
ALL_SECONDS = 40.0
"""Time for all tries."""
TOGETHER = 8
"""Tries between two looks at the clock."""

Attempt = Callable[[Sequence[Overlay], Sequence[Gone], bool], list[Tried]]
"""How to run the program with each of these texts, in short. A failure at its place
ends a run; with True each run has a process of its own."""


NOWHERE: Place = ("", 0, "")
"""In place of a failure at which a run may end."""


def has_many_calls(program: Program) -> bool:
    """Return whether a run makes so many calls that its trials have few turns."""
    return len(program.trace.ops) > MANY_CALLS


OF_MAKERS = frozenset({"any-batch", "definition", "distant", "exchanged"})
"""Kinds of fixes with which what a call is given is made in another way."""


@dataclass(slots=True)
class FixTrials:
    """Tries edits by running the program with each, within a budget of runs, calls and
    seconds for all errors together.

    `texts` are those of the files with the fixes so far, `told` the errors so far.
    """

    program: Program
    attempt: Attempt | None = None
    texts: dict[str, str] = field(default_factory=dict)
    told: list[Reported] = field(default_factory=list)
    left: int = ALL_TRIES
    longest: int = 0  # calls of the longest run, with the fixes so far
    calls: int = 0  # that all tries made
    tried: int = 0  # how many there were
    seconds: float = 0.0  # that they took
    crowded: set[tuple[str, int]] = field(default_factory=set)
    is_long: bool = False  # a run takes too long to be made for its warnings alone

    def limit_tries(self, seconds: float) -> None:
        """Limit the tries of a script by what its first run took: so many calls, and so
        many seconds.
        """
        errors = len({place[:2] for place in list_failures(self.program)})
        most = CALLS_OF_ERROR * max(1, min(errors, MOST_ERRORS))
        calls = max(1, len(self.program.trace.ops))
        self.left = max(FEWEST_TRIES, min(ALL_TRIES, most // calls))
        self.is_long = seconds > VERY_LONG
        if self.is_long:
            self.left = min(self.left, max(1, errors) * TRIES_OF_VERY_LONG)

    def try_fixes(
        self,
        program: Program,
        reported: Reported,
        options: list[FixOption],
        errors: int = 1,
    ) -> None:
        """Try fixes in small batches until enough of them help; of what may be tried,
        the share of one of so many errors.
        """
        if self.attempt is None:
            return
        self.longest = max(self.longest, len(program.trace.ops))
        before = list_failures(program)
        code = reported.finding.code
        doubtful = any(option.kind == "flattened" for option in options)
        sure = is_output_sure(program) and not doubtful
        wanted = get_output(program) if sure else None
        pairs = [
            (option, write_fix(program, option.fix, self.texts)) for option in options
        ]
        known = [(option, texts) for option, texts in pairs if texts is not None]
        start, enough, began = 0, False, self.seconds
        share = max(LEAST_SHARE, self.left // errors)
        at_once: tuple[int, ...] = AT_ONCE
        is_long = len(program.trace.ops) > LONG_RUN
        is_early = bool(known) and known[0][0].kind in EXPLAINED and not is_long
        if is_long or is_early:
            at_once = (FIRST_OF_LONG, *AT_ONCE)
        is_first_enough = has_many_calls(program)
        if is_first_enough:
            at_once = (1, *at_once)
        for turn, count in enumerate(at_once):
            some = known[start : start + min(count, self.room(), share - start)]
            limit = min(began + MOST_SECONDS, ALL_SECONDS)
            while some and (start < FIRST_OF_LONG or self.seconds < limit):
                part, some = some[:TOGETHER], some[TOGETHER:]
                start += len(part)
                self.try_part(program, reported, part, before)
                shared = count_shared_warnings(reported.mends)
                reported.mends.sort(
                    key=lambda m: rank_repair(m, before, wanted, shared, code)
                )
                later = turn + is_first_enough - is_early
                enough = bool(reported.mends) and is_enough(
                    reported.mends[0], before, wanted, later, shared, code
                )
                if is_early and turn == 0 and enough:
                    enough = reported.mends[0].option.kind in EXPLAINED
                if enough and reported.mends[0].loses_samples:
                    enough = not HazardContext(program).keeps_samples
                if enough and reported.mends[0].option.kind in FOLLOWING:
                    break
            short = len(known[start:]) > 0 and bool(some)
            if enough:
                break
            if short or start >= min(len(known), share) or not self.room():
                break
        reported.untried = 0 if enough else len(known) - start
        reported.mends = drop_last_resorts(reported.mends)
        loses = any(mend.loses_samples for mend in reported.mends)
        if loses and HazardContext(program).keeps_samples:
            # What drops or merges the samples is no fix.
            reported.mends = [m for m in reported.mends if not m.loses_samples]
        shared = count_shared_warnings(reported.mends)
        ranks = [
            rank_repair(m, before, wanted, shared, code)[:GROUNDS]
            for m in reported.mends
        ]
        reported.mends = [
            mend
            for mend, option in zip(reported.mends, ranks, strict=True)
            if option == ranks[0]
        ]
        reported.mends = drop_unended(reported.mends)
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
        gone = [self.ending(reported, option) for option, _ in part]
        runs = self.attempt([texts for _, texts in part], gone, False)
        self.calls += sum(run.ops for run in runs)
        self.tried += len(runs)
        self.seconds += time.perf_counter() - began
        failed = reported.outline_failed(program)
        for (option, texts), run in zip(part, runs, strict=True):
            moved = move_tried(option.fix, run)
            code, place = reported.finding.code, reported.place
            if not is_helpful(option, moved, place, code, program, self.crowded):
                continue
            guessed, turns = option.kind in GUESSED, option.kind == "layout"
            of_maker = option.kind in OF_MAKERS
            if of_maker or not is_refused_after(
                failed, run.outline, option.fix, guessed, turns
            ):
                reported.mends.append(Mend(option, texts, run, moved, place))

    def room(self) -> int:
        """Return how many trials the budget of calls allows, judging by past trials."""
        calls = max(1, self.longest, len(self.program.trace.ops))
        errors = max(1, len(list_failures(self.program)), len(self.told) + 1)
        most = max(MOST_CALLS * calls, LEAST_CALLS * errors)
        if self.tried:
            calls = max(1, self.calls // self.tried)
        return max(0, min(self.left, (most - self.calls) // calls))

    def ending(self, reported: Reported, option: FixOption) -> Gone:
        """Return the failure at which a trial may stop, or `NOWHERE` if its line has
        several. With other elements, the same call may fail for another reason.
        """
        several = reported.place[:2] in self.crowded or reported.is_of_objects
        if several:
            return NOWHERE
        known = dict(list_refusals(reported.mended or self.program))
        refused = known.get(reported.place)
        if refused is None or option.kind not in HEEDING:
            return reported.place
        return Refused(*reported.place, refused[0])

    def is_deferred(
        self, program: Program, fresh: list[Reported], dependent: Collection[Span]
    ) -> bool:
        """Return whether the last error has operands whose shapes an earlier one left
        open, or that its fix changes: its fixes are tried in the run with that one.
        """
        *earlier, last = fresh
        shapes = dict(list_operands(program)).get(last.place)
        for reported in earlier:
            for mend in reported.mends[:1]:
                with_fix = dict(mend.moved.operands).get(last.place, shapes)
                is_changed = bool(with_fix and shapes and with_fix[0] != shapes[0])
                if is_changed and mend.option.kind not in GUESSED:
                    return True
        if last.finding.span not in dependent:
            return False
        return any(
            is_at(last.place, place, self.crowded)
            for reported in earlier
            for mend in reported.mends[:1]
            if mend.tried.complete or not program.trace.complete
            for place in mend.moved.failures
        )
