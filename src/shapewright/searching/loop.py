"""The search: the cheapest hypothesis is run, and what it fails at makes more."""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from shapewright.inputs.finding.hypothesis import Hypothesis
from shapewright.rules.needs.ending import Ending
from shapewright.rules.needs.failure import Failure
from shapewright.searching.estimating import Observations, nice
from shapewright.trace.record import Trace

if TYPE_CHECKING:
    from shapewright.inputs.example import Candidate
    from shapewright.inputs.finding.beginning import Beginning
    from shapewright.inputs.loaded import Loaded

MOST = 60
"""Runs of one search."""
IDLE = 20
"""Runs in a row that failed as others did before; then no more are made."""
FAILURES = 4
"""Failures that a run passes over."""
CALLS = 40_000
"""Calls after which a run is ended: it steps through something that is too large."""
PATIENT = 400_000
"""The same, once a search, where nothing had failed until then."""
LATER = 1.0
"""What a change costs more that mends the end of a run, where a call failed before."""
NICER = 4
"""Of these, runs that look for a size that people choose."""


@dataclass(frozen=True, slots=True)
class Found:
    """Inputs, whether they run to the end, and after how many runs they were found.

    Where nothing ran to its end, they are those with which it came furthest; `failed`
    is then what it ended with, and `own` says that this is wrong for all inputs.
    """

    candidate: Candidate
    fits: bool
    runs: int
    own: bool = False
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """One run of a hypothesis."""

    hypothesis: Hypothesis
    candidate: Candidate
    trace: Trace
    failures: tuple[Failure, ...]
    ending: Ending | None

    @property
    def fits(self) -> bool:
        """Whether it came to its end and nothing was passed over."""
        return self.trace.complete and not self.failures

    @property
    def unfinished(self) -> bool:
        """Whether it was ended for the number of its calls alone."""
        last = self.trace.findings[-1:]
        return not self.failures and any(each.code == "timeout" for each in last)

    @property
    def failed(self) -> str:
        """What it failed at first, in torch's or the program's words, and where."""
        if self.failures:
            failure = self.failures[0]
            span = self.trace.ops[failure.op].span
            said = failure.torch_message.strip().splitlines()
        else:
            last = self.trace.findings[-1] if self.trace.findings else None
            span = last.span if last is not None else None
            said = [last.message] if last is not None else []
        place = f" at {span.file}:{span.line}" if span is not None else ""
        return (said[0] if said else "no words") + place

    @property
    def reach(self) -> int:
        """How many places of the program ran before something failed."""
        end = self.failures[0].op if self.failures else len(self.trace.ops)
        places = {(op.span, op.name) for op in islice(self.trace.ops, end)}
        return len(places)


@dataclass(slots=True)
class Search:
    """A search under way."""

    loaded: Loaded
    known: Beginning
    observed: Observations = field(default_factory=Observations)
    queue: list[tuple[float, int, Hypothesis]] = field(default_factory=list)
    met: set[str] = field(default_factory=set)
    ends: set[object] = field(default_factory=set)
    runs: int = 0
    patient: bool = False

    def add(self, many: Iterable[Hypothesis], nearer: float = 0.0) -> None:
        """Put hypotheses that are new into the queue, so much cheaper."""
        for each in many:
            each = replace(each, cost=each.cost - nearer) if nearer else each
            text = each.text()
            if text not in self.met:
                self.met.add(text)
                heapq.heappush(self.queue, (each.cost, len(self.met), each))

    def conducted(self) -> Tried | None:
        """The first run that fits, or the one that came furthest."""
        from shapewright.searching.mending import mender
        from shapewright.searching.raising import of_ending

        self.add(self.known.hypotheses())
        best: Tried | None = None
        idle = 0
        while self.queue and self.runs < MOST:
            tried = self.tried(heapq.heappop(self.queue)[2])
            if tried is None:
                continue
            if tried.unfinished and not self.patient:
                self.patient = True
                tried = self.tried(tried.hypothesis, PATIENT) or tried
            if tried.fits:
                return self.nicer(tried)
            nearer = 0.0
            if best is None or tried.reach > best.reach:
                nearer = self.nearer(tried, best)
                best = tried
            idle = 0 if self.news(tried) else idle + 1
            if idle == IDLE:
                break
            each = mender(
                self.known, self.observed, tried.hypothesis, tried.trace, tried.failures
            )
            self.add(each.mended(), nearer)
            later = LATER if tried.failures else 0.0
            self.add(of_ending(each, tried.ending), nearer - later)
        return best

    def nearer(self, tried: Tried, best: Tried | None) -> float:
        """What a hypothesis that came further than any before is cheaper than it was.

        Its changes are then tried as if it had been the first.
        """
        first = best.hypothesis.cost if best is not None else tried.hypothesis.cost
        return max(tried.hypothesis.cost - first, 0.0)

    def news(self, tried: Tried) -> bool:
        """Whether it failed at another place, or in other words, than any before."""
        failed = tuple(
            (tried.trace.ops[each.op].span, each.torch_message)
            for each in tried.failures
        )
        last = tried.trace.findings[-1] if tried.trace.findings else None
        said = (last.span, last.message, last.torch_message) if last else ()
        found = (failed, said, tried.reach)
        known = found in self.ends
        self.ends.add(found)
        return not known

    def flatter(self, best: Tried) -> Tried | None:
        """The same with a dim less for each input, where that fits."""
        from shapewright.inputs.finding.beginning import settled

        hypothesis = best.hypothesis
        wide = [(p, each) for p, each in hypothesis.tensors() if len(each.dims) > 1]
        for path, each in wide:
            hypothesis = hypothesis.with_value(path, replace(each, dims=each.dims[1:]))
        tried = self.tried(settled(hypothesis)) if wide else None
        return tried if tried is not None and tried.fits else None

    def nicer(self, found: Tried) -> Tried:
        """The same with a size of images that people choose, if that fits, too."""
        sizes = found.hypothesis.sizes
        used = {dim for _, each in found.hypothesis.tensors() for dim in each.dims}
        sides = [letter for letter in ("H", "W") if letter in used]
        if len(sides) != 2 or sizes["H"] != sizes["W"] or sizes["H"] % 32 in (0, 28):
            return found
        for side in nice(sizes["H"])[:NICER]:
            if side % 4 == 0 and side != sizes["H"]:
                tried = self.tried(found.hypothesis.with_sizes({"H": side, "W": side}))
                if tried is not None and tried.fits:
                    return tried
        return found

    def tried(self, hypothesis: Hypothesis, most: int = CALLS) -> Tried | None:
        """Run a hypothesis; None where it cannot be written as a spec."""
        from shapewright.inputs.errors import InputError
        from shapewright.inputs.example import Candidate
        from shapewright.runtime.run import Settings, record
        from shapewright.searching.feeding import made_of

        why = "; ".join(hypothesis.why) or "usual shapes were tried"
        try:
            candidate = Candidate(f"found by search: {why}", hypothesis.spec(), True)
        except InputError:
            return None
        args, kwargs = candidate.arguments(made_of)
        settings = Settings(go_on=True, quick=True, watch=counted(most))
        settings.most = FAILURES
        self.runs += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of inputs that are only tried
            made = record(self.loaded.callable, args, kwargs, settings)
        ending = None
        if settings.ending is not None and tuple(made.ops) is not None:
            ending = settings.ending()
        failures = tuple(settings.failures)
        return Tried(hypothesis, candidate, made, failures, ending)


def counted(most: int) -> Any:
    """What ends a run after so many calls."""
    from shapewright.engine.failures.run_ends import Stopped

    count = 0

    def watch(plan: Any) -> Any:
        def counting(engine: Any, func: Any, args: Any, kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count > most:
                raise Stopped(f"the run was ended after {most} calls")
            return plan(engine, func, args, kwargs)

        return counting

    return watch


def search(loaded: Loaded) -> Found | None:
    """Look for inputs with which the target runs to its end."""
    from shapewright.inputs.example import Candidate
    from shapewright.inputs.finding.beginning import beginning
    from shapewright.inputs.spec import parse

    known = beginning(loaded)
    if known is None:
        return Found(Candidate("it needs no inputs", parse("")), True, 0)
    under_way = Search(loaded, known)
    best = under_way.conducted()
    if best is None:
        return None
    if best.fits:
        return Found(best.candidate, True, under_way.runs)
    from shapewright.searching.fault import is_programs_own

    if (flat := under_way.flatter(best)) is not None:
        return Found(flat.candidate, True, under_way.runs)
    own = is_programs_own(best, under_way.tried)
    return Found(best.candidate, False, under_way.runs, own, best.failed)
