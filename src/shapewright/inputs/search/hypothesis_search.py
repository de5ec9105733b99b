"""Search for inputs: run the cheapest hypothesis, derive more from its failure, and
stop when the program itself is at fault.
"""

from __future__ import annotations

import heapq
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import gcd
from typing import TYPE_CHECKING, Any

from shapewright.findings.codes import PROGRAM_EXIT, TIMEOUT
from shapewright.inputs.search.hypotheses import Hypothesis, Tensor
from shapewright.inputs.search.input_sources import (
    Observations,
    find_usual_sizes,
    find_way_back,
)
from shapewright.inputs.search.next_hypotheses import OF_RANK, replace_dim
from shapewright.operators.failed_calls import Ending, Failure
from shapewright.record.ops import Op
from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from shapewright.inputs.callables import Loaded
    from shapewright.inputs.search.first_hypotheses import Beginning
    from shapewright.inputs.spec import Candidate


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
STATED = 6
"""Inputs that a file states, which are run."""
SAID = 1
"""Of these, failures that are told where other inputs run."""
NICER = 4
"""Of these, runs that look for a size that people choose."""


@dataclass(frozen=True, slots=True)
class Found:
    """The inputs that were found, whether they fit, and how many runs it took.

    Where nothing ran to its end, they are those with which it came furthest; `failed`
    is then what it ended with, and `own` says that this is wrong for all inputs.
    """

    candidate: Candidate
    fits: bool
    runs: int
    own: bool = False
    failed: str = ""


@dataclass(frozen=True, slots=True)
class _Tried:
    """A hypothesis and the results of its run."""

    hypothesis: Hypothesis
    candidate: Candidate
    trace: Trace
    failures: tuple[Failure, ...]
    ending: Ending | None

    @property
    def fits(self) -> bool:
        """Return whether the run reached its end without skipped errors."""
        return self.trace.complete and not self.failures

    @property
    def unfinished(self) -> bool:
        """Return whether the run was ended only because of its number of calls."""
        last = self.trace.findings[-1:]
        return not self.failures and any(finding.code == TIMEOUT for finding in last)

    @property
    def failed(self) -> str:
        """Return the message of the first failure, with its file and line."""
        if self.failures:
            failure = self.failures[0]
            span = self.trace.ops[failure.op].span
            lines = failure.torch_message.strip().splitlines()
        else:
            last = self.trace.findings[-1] if self.trace.findings else None
            span = last.span if last is not None else None
            lines = [last.message] if last is not None else []
        place = f" at {span.file}:{span.line}" if span is not None else ""
        return (lines[0] if lines else "no words") + place

    @property
    def reach(self) -> int:
        """Return the number of distinct calls that ran before a failure."""
        end = self.failures[0].op if self.failures else len(self.trace.ops)
        places = {(op.span, op.name) for op in islice(self.trace.ops, end)}
        return len(places)


@dataclass(slots=True)
class _Search:
    """A search in progress."""

    loaded: Loaded
    known: Beginning
    observed: Observations = field(default_factory=Observations)
    queue: list[tuple[float, int, Hypothesis]] = field(default_factory=list)
    met: set[str] = field(default_factory=set)
    ends: set[object] = field(default_factory=set)
    runs: int = 0
    patient: bool = False

    def add(self, many: Iterable[Hypothesis], nearer: float = 0.0) -> None:
        """Add new hypotheses to the queue, with their cost reduced by `nearer`."""
        for hypothesis in many:
            hypothesis = (
                replace(hypothesis, cost=hypothesis.cost - nearer)
                if nearer
                else hypothesis
            )
            text = hypothesis.text()
            if text not in self.met:
                self.met.add(text)
                heapq.heappush(self.queue, (hypothesis.cost, len(self.met), hypothesis))

    def conducted(self) -> _Tried | None:
        """Search, and return the first run that fits or the one that got furthest."""
        from shapewright.inputs.search.next_hypotheses import make_mender
        from shapewright.inputs.search.raised_errors import mend_ending

        self.add(self.known.hypotheses())
        best: _Tried | None = None
        idle = 0
        while self.queue and self.runs < MOST:
            tried = self.tried(heapq.heappop(self.queue)[2])
            if tried is None:
                continue
            if tried.unfinished and not self.patient:
                self.patient = True
                tried = self.tried(tried.hypothesis, PATIENT) or tried
            if tried.fits:
                return self.use_common_size(tried)
            nearer = 0.0
            if best is None or tried.reach > best.reach:
                nearer = self.compute_progress(tried, best)
                best = tried
            idle = 0 if self.is_new(tried) else idle + 1
            if idle == IDLE:
                break
            mender = make_mender(
                self.known, self.observed, tried.hypothesis, tried.trace, tried.failures
            )
            self.add(mender.mended(), nearer)
            later = LATER if tried.failures else 0.0
            self.add(mend_ending(mender, tried.ending), nearer - later)
        return best

    def run_stated(self) -> tuple[_Tried | None, list[str]]:
        """Run what the target's file says of its inputs.

        Return the first run that fits, or the first that fails on what the file leaves
        no doubt of; and what is to be said of the others that fail.
        """
        from shapewright.inputs.search.stated_inputs import iter_stated_inputs

        first = next(iter(self.known.hypotheses()), None)
        refused: _Tried | None = None
        messages: list[str] = []
        for n, stated in enumerate(
            iter_stated_inputs(self.loaded, first) if first else ()
        ):
            tried = self.tried(stated.hypothesis, stated=True) if n < STATED else None
            if tried is None or tried.unfinished:
                continue
            if tried.fits:
                return tried, []
            if stated.sure and refused is None:
                refused = tried
            elif len(messages) < SAID:
                why = "; ".join(stated.hypothesis.why)
                text = stated.hypothesis.text()
                messages.append(f"{text} ({why}) fails: {tried.failed}")
        return refused, messages

    def compute_progress(self, tried: _Tried, best: _Tried | None) -> float:
        """Return the cost reduction for a hypothesis that got further than all before.

        Its changes are then tried as if it had been the first.
        """
        first = best.hypothesis.cost if best is not None else tried.hypothesis.cost
        return max(tried.hypothesis.cost - first, 0.0)

    def is_new(self, tried: _Tried) -> bool:
        """Return whether a run failed in another place or way than all runs before."""
        failed = tuple(
            (tried.trace.ops[failure.op].span, failure.torch_message)
            for failure in tried.failures
        )
        last = tried.trace.findings[-1] if tried.trace.findings else None
        last_error = (last.span, last.message, last.torch_message) if last else ()
        end = (failed, last_error, tried.reach)
        known = end in self.ends
        self.ends.add(end)
        return not known

    def remove_dim(self, best: _Tried) -> _Tried | None:
        """Remove the first dim of every input; return the run, or None if it fails."""
        from shapewright.inputs.search.first_hypotheses import settle_letters

        hypothesis = best.hypothesis
        wide = [
            (p, tensor) for p, tensor in hypothesis.tensors() if len(tensor.dims) > 1
        ]
        for path, tensor in wide:
            hypothesis = hypothesis.with_value(
                path, replace(tensor, dims=tensor.dims[1:])
            )
        tried = self.tried(settle_letters(hypothesis)) if wide else None
        return tried if tried is not None and tried.fits else None

    def use_common_size(self, fitting: _Tried) -> _Tried:
        """Return a run with a more common image size if that fits, else this one."""
        sizes = fitting.hypothesis.sizes
        used = {
            dim for _, tensor in fitting.hypothesis.tensors() for dim in tensor.dims
        }
        sides = [letter for letter in ("H", "W") if letter in used]
        if len(sides) != 2 or sizes["H"] != sizes["W"] or sizes["H"] % 32 in (0, 28):
            return fitting
        for side in find_usual_sizes(sizes["H"])[:NICER]:
            if side % 4 == 0 and side != sizes["H"]:
                tried = self.tried(
                    fitting.hypothesis.with_sizes({"H": side, "W": side})
                )
                if tried is not None and tried.fits:
                    return tried
        return fitting

    def tried(
        self, hypothesis: Hypothesis, most: int = CALLS, stated: bool = False
    ) -> _Tried | None:
        """Run a hypothesis, or return None if it cannot be written as a spec."""
        from shapewright.engine.engine import EngineOptions, GoingOn
        from shapewright.inputs.errors import InputError
        from shapewright.inputs.spec import Candidate, make_tensor
        from shapewright.runtime.run import record_run
        from shapewright.runtime.run_record import RunRequest

        why = "; ".join(hypothesis.why) or "usual shapes were tried"
        try:
            reason = why if stated else f"found by search: {why}"
            candidate = Candidate(reason, hypothesis.spec(), not stated)
        except InputError:
            return None
        args, kwargs = candidate.arguments(make_tensor)
        going_on = GoingOn(most=FAILURES, quick=True)
        options = EngineOptions(going_on=going_on, watch=_make_counting_hook(most))
        self.runs += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of inputs that are only tried
            run = record_run(
                self.loaded.callable, args, kwargs, RunRequest(options=options)
            )
        ending = run.ending() if run.ending is not None else None
        return _Tried(hypothesis, candidate, run.trace, run.failures, ending)


def _make_counting_hook(most: int) -> Any:
    """Return a hook that ends a run after a number of calls."""
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


def search_inputs(loaded: Loaded) -> Found | None:
    """Search for inputs with which the target runs to its end."""
    from shapewright.inputs.search.first_hypotheses import find_beginning
    from shapewright.inputs.spec import Candidate, parse_spec

    known = find_beginning(loaded)
    if known is None:
        return Found(Candidate("it needs no inputs", parse_spec("")), True, 0)
    under_way = _Search(loaded, known)
    stated, refused = under_way.run_stated()
    if stated is not None and stated.fits:
        return Found(stated.candidate, True, under_way.runs)
    best = under_way.conducted()
    if stated is not None:
        runs = f"; {best.candidate.inputs} would run" if best and best.fits else ""
        candidate = replace(stated.candidate, reason=stated.candidate.reason + runs)
        return Found(candidate, False, under_way.runs, True, stated.failed)
    if best is None:
        return None
    if best.fits:
        reason = "; ".join((best.candidate.reason, *refused))
        return Found(replace(best.candidate, reason=reason), True, under_way.runs)

    if (flat := under_way.remove_dim(best)) is not None:
        return Found(flat.candidate, True, under_way.runs)
    own = _is_error_of_program(best, under_way.tried)
    return Found(best.candidate, False, under_way.runs, own, best.failed)


Run = Callable[[Hypothesis], "_Tried | None"]

MOST_RESIZED = 16
"""Runs at other sizes."""

OWN = re.compile(
    r"^`?(NameError|UnboundLocalError|ImportError|ModuleNotFoundError"
    r"|NotImplementedError|RecursionError|SyntaxError)\b"
    r"|object has no attribute"
    r"|missing \d+ required (?:positional|keyword-only) argument"
    r"|got an unexpected keyword argument|positional arguments? but \d+"
    r"|must be Tensor, not (?:tuple|list)|not callable"
)
"""Exceptions of Python that no size of an input takes away."""
OF_INPUT = re.compile(r"'(?:NoneType|dict|list|int|float|str|bool)' object has no")
"""But these, where an argument may be of another kind."""
RANKED = re.compile(r"conv|pool|batch_norm|instance_norm|pixel_|interpolate|upsample")
"""Calls that fix how many dims their input has."""


def _is_error_of_program(best: _Tried, run: Run) -> bool:
    """Return whether the failure of the best inputs is an error for all inputs.

    A call that torch refused is run again at other sizes of each dim of the inputs: the
    program is wrong if its two sides stay as they are, or if what varies can never be
    what is needed. An exception of the program's own counts where it speaks of names
    and arguments; one that refuses a size or a value may be about the input.
    """
    if best.failures:
        return _is_failure_of_program(best, best.failures[0], run)
    last = best.trace.findings[-1] if best.trace.findings else None
    if last is None or last.code == TIMEOUT:
        return False
    if last.code == PROGRAM_EXIT:
        return True
    message = f"{last.message} {last.torch_message or ''}"
    return OWN.search(message) is not None and OF_INPUT.search(message) is None


def _is_failure_of_program(best: _Tried, failure: Failure, run: Run) -> bool:
    ops = tuple(best.trace.ops)
    op, unmet = ops[failure.op], failure.unmet
    way = find_way_back(best.trace, best.hypothesis)
    if failure.of_history or not any(way.ancestors(fact) for fact in op.inputs):
        return True
    if unmet is not None and unmet.code in OF_RANK:
        before = (op for fact in op.inputs for op in way.ops(fact))
        return any(RANKED.search(op.name.lower()) for op in before)
    if any(repair.kind == "dtype" for repair in failure.repairs[:1]):
        facts = [op.inputs[r.tensor] for r in failure.repairs[:4] if r.tensor >= 0]
        return all(way.find_carried(fact) is None for fact in facts)
    if unmet is None and any(way.input(fact) for fact in op.inputs):
        return False  # torch refused the input as it was given, and no rule says why
    sides = {_find_sides(failure)}
    for hypothesis in islice(_iter_resized(best.hypothesis), MOST_RESIZED):
        tried = run(hypothesis)
        if tried is None or (not tried.failures and not tried.trace.complete):
            continue
        other = _find_failure(tried, op)
        if other is not None:
            sides.add(_find_sides(other))
        elif _has_passed(tried, op):
            return False
    return len(sides) == 1 or _is_never_equal(sides)


def _find_sides(failure: Failure) -> tuple[object, object]:
    """Return the actual and needed size of a call, or torch's message if unknown."""
    unmet = failure.unmet
    if unmet is None or unmet.has is None or unmet.needs is None:
        return failure.torch_message, ""
    return unmet.has, unmet.needs


def _is_never_equal(sides: set[tuple[object, object]]) -> bool:
    """Return whether one side is fixed and can never equal the other.

    Example: 401 features are needed, and 16 channels of any size were there.
    """
    pairs = [(a, b) for a, b in sides if isinstance(a, int) and isinstance(b, int)]
    if len(pairs) != len(sides):
        return False
    for fixed, other in ((0, 1), (1, 0)):
        needs = {pair[fixed] for pair in pairs}
        unit = gcd(*(pair[other] for pair in pairs))
        if len(needs) == 1 and unit and needs.pop() % unit:
            return True
    return False


def _iter_resized(hypothesis: Hypothesis) -> Iterator[Hypothesis]:
    """Yield copies with another size for one dim, or for both sides of an image.

    Each input has a dim more, too: a program that takes a batch may run without one.
    """
    used = {dim for _, tensor in hypothesis.tensors() for dim in tensor.dims}
    changes: list[tuple[str, ...]] = [
        (letter,) for letter in hypothesis.sizes if letter in used
    ]
    if {"H", "W"} <= used:
        changes.insert(0, ("H", "W"))
    for letters in changes:
        for change in (_double_size, _find_next_size):
            sizes = {letter: change(hypothesis.sizes[letter]) for letter in letters}
            yield hypothesis.with_sizes(sizes)
    for path, tensor in hypothesis.tensors():
        yield hypothesis.with_value(path, replace(tensor, dims=(2, *tensor.dims)))
    for path, tensor in hypothesis.tensors():
        for place, dim in enumerate(tensor.dims):
            for change in (
                (_double_size, _find_next_size) if isinstance(dim, int) else ()
            ):
                assert isinstance(dim, int)
                yield hypothesis.with_value(path, _with_dim(tensor, place, change(dim)))


def _with_dim(tensor: Tensor, place: int, size: int) -> Tensor:
    return replace(tensor, dims=replace_dim(tensor.dims, place, size))


def _double_size(size: int) -> int:
    return 2 * size


def _find_next_size(size: int) -> int:
    return size + 1


def _find_failure(tried: _Tried, op: Op) -> Failure | None:
    """Return the failure of the same call in another run if it failed first."""
    if not tried.failures:
        return None
    first = tried.failures[0]
    other = tried.trace.ops[first.op]
    return first if _get_place(other) == _get_place(op) else None


def _get_place(op: Op) -> tuple[object, ...]:
    """Return a key of a call: its line, its layer and its name."""
    return op.span, op.module, op.name


def _has_passed(tried: _Tried, op: Op) -> bool:
    """Return whether the same call succeeded in another run before anything failed."""
    end = tried.failures[0].op if tried.failures else len(tried.trace.ops)
    before = islice(tried.trace.ops, end)
    return any(_get_place(earlier) == _get_place(op) for earlier in before)
