"""Checks for failures at another batch size, at sizes larger by 1, or at every size
that is not a multiple of some number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shapewright.analysis.edges.other_runs import (
    Free,
    Place,
    Request,
    RunOutcome,
    Runs,
    RunStep,
    Shape,
    add_sizes,
    find_rank_change,
    format_shape,
    format_sizes,
    move_finding,
)
from shapewright.analysis.explanations import MOST_RELATED
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import BATCH_HARD_CODED, LOST_BATCH, LOST_DIM
from shapewright.findings.finding import Finding, Severity
from shapewright.record.ops import collect_leaves

SMALL = (1, 2, 3)
"""Batches that are tried."""


def get_batch_requests(free: Free) -> list[Request]:
    """Return the runs needed to check a batch dim."""
    ways = [(1, False), (2, False), (1, True), (3, False)]
    return [Request(((free, size),), mode) for size, mode in ways]


def check_batch(free: Free, runs: Runs, program: Program) -> Iterator[Finding]:
    """Find failures and unexpected outputs at other batch sizes."""
    small = {n: runs.at(Request(((free, n),), False)) for n in SMALL if n != free.size}
    fails = [n for n, outcome in small.items() if outcome.state == "fails"]
    if fails:
        finding = _report_failing_batch(free, runs, small, fails)
        yield from [finding] if finding is not None else []
        return
    lost = list(_report_lost_batch(free, runs)) or list(
        _report_constant_output(free, runs, program)
    )
    yield from lost
    trained = runs.at(Request(((free, 1),), True))
    if trained.state == "fails" and free.size != 1:
        cause = runs.cause(Request(((free, 1),), True))
        yield from [add_sizes(cause, "note", [(free, 1)], True)] if cause else []


def _report_failing_batch(
    free: Free, runs: Runs, small: dict[int, RunOutcome], fails: Sequence[int]
) -> Finding | None:
    """Report a batch size that torch refuses; return None where the program expects
    multiples of a number, as windows do, or where it is not known which inputs belong
    together.
    """
    runs_at = [n for n, outcome in small.items() if outcome.state == "runs"]
    severity: Severity = "warning" if 1 in fails else "note"
    if {*fails, 1} >= set(small):
        more = [free.size + 1, 2 * free.size]
        runs.ask([Request(((free, n),), False) for n in more])
        larger = {n: runs.at(Request(((free, n),), False)) for n in more}
        if all(outcome.state == "fails" for outcome in larger.values()):
            if free.guessed:
                return None
            return _report_hard_coded(free, runs, [*fails, *more], severity)
        if larger[more[0]].state != "runs" and len(fails) > 1:
            return None
        runs_at += [n for n, outcome in larger.items() if outcome.state == "runs"]
    first = runs.cause(Request(((free, fails[0]),), False))
    if first is None:
        return None
    finding = add_sizes(first, severity, [(free, fails[0])], False)
    others = list(fails[1:])
    notes = []
    if others:
        verb = "fails" if len(others) == 1 else "fail"
        notes = [f"{format_sizes(free, others)} {verb} too"]
    lines = (*finding.lines, *notes, *_format_runs(free, runs_at))
    return replace(finding, lines=lines)


def _format_runs(free: Free, sizes: Sequence[int]) -> list[str]:
    """Return a text such as `batch 2, 3 and 8 run`."""
    known = sorted({*sizes, free.size})
    return [f"{format_sizes(free, known)} run{'s' * (len(known) == 1)}"]


def _report_hard_coded(
    free: Free, runs: Runs, fails: Sequence[int], severity: Severity
) -> Finding | None:
    """Report a program that runs only with the given batch size."""
    sized = [free.size, free.size + 1, 2 * free.size]
    asked = [Request(((free, n),), False) for n in sized]
    finding = runs.cause(asked[1])
    if finding is None:
        return None
    place = _find_constant_call(free.size, runs.steps(asked))
    related = move_finding(finding, place).related if place is not None else ()
    condition = f"runs only with {free.at(free.size)}: at {free.at(free.size + 1)},"
    sizes = ", ".join(f"{free.letter}={n}" for n in fails)
    tried = f"{format_sizes(free, sorted(fails))} fail"
    return replace(
        finding,
        code=BATCH_HARD_CODED,
        severity=severity,
        message=f"{condition} {finding.message}",
        sizes=sizes,
        lines=(*finding.lines, tried),
        related=(*related, *finding.related)[:MOST_RELATED],
        fixes=(),
    )


def _find_constant_call(size: int, runs: Sequence[Sequence[RunStep]]) -> Place | None:
    """Return the first call whose output keeps the given batch size in runs with other
    batch sizes.
    """
    for step, *others in zip(*runs, strict=False):
        if any((step.name, step.place) != (o.name, o.place) for o in others):
            break
        shapes = (step.shapes, *(other.shapes for other in others))
        for shape, *rest in zip(*shapes, strict=False):
            same = all(len(other_shape) == len(shape) for other_shape in rest)
            first = bool(shape) and {other_shape[:1] for other_shape in rest} == {
                (size,)
            }
            if same and first and shape[0] == size and shape not in rest:
                label = f"dim 0 is {size} here whatever the batch is:"
                return step, f"{label} {format_shape(rest[0])}"
    return None


# -- what runs, and gives something else -----------------------------------------------


def _report_lost_batch(free: Free, runs: Runs) -> Iterator[Finding]:
    """Report outputs that lose the batch dim when the batch is 1."""
    at_one, at_two, at_three = (runs.at(Request(((free, n),), False)) for n in SMALL)
    if any(outcome.state != "runs" for outcome in (at_one, at_two, at_three)):
        return
    if not len(at_one.output) == len(at_two.output) == len(at_three.output):
        return
    for out, second, third in zip(
        at_one.output, at_two.output, at_three.output, strict=True
    ):
        wanted = _compute_expected_shape(second, third)
        if wanted is None or len(out) == len(wanted):
            continue
        steps = runs.steps([Request(((free, n),), False) for n in (1, 2)])
        message = f"the output is {format_shape(out)}, not {format_shape(wanted)}"
        lines = (f"at {free.at(2)} it is {format_shape(second)}",)
        finding = Finding(LOST_BATCH, "warning", message, lines=lines)
        finding_at_one = add_sizes(finding, "warning", [(free, 1)], False)
        yield move_finding(finding_at_one, find_rank_change(*steps))
        return


def _compute_expected_shape(two: Shape, three: Shape) -> Shape | None:
    """Return the output shape expected for a batch of 1, given those for batches of 2
    and 3.
    """
    if len(two) != len(three) or two == three:
        return None
    return tuple(2 * a - b for a, b in zip(two, three, strict=True))


def _report_constant_output(
    free: Free, runs: Runs, program: Program
) -> Iterator[Finding]:
    """Report an output that keeps the given batch size when the input's batch size
    changes.
    """
    from shapewright.record.ops import collect_leaves

    shapes = [fact.shape for fact in collect_leaves(program.trace.output)]
    seen = [runs.at(Request(((free, n),), False)) for n in (2, 3)]
    if free.size in SMALL or any(outcome.state != "runs" for outcome in seen):
        return
    for at, shape in enumerate(shapes):
        if any(len(outcome.output) != len(shapes) for outcome in seen):
            return
        two, three = (outcome.output[at] for outcome in seen)
        ranks = {len(shape), len(two), len(three)}
        if len(ranks) > 1 or not shape or two == three:
            continue
        if shape[0] == two[0] == three[0] == free.size:
            stay = f"dim 0 stays {free.size}, the batch that was given"
            finding = Finding(
                BATCH_HARD_CODED,
                "warning",
                f"the output is {format_shape(two)}: {stay}",
                lines=(f"at {free.at(3)} it is {format_shape(three)}",),
            )
            asked = [Request(((free, n),), False) for n in (free.size, 2, 3)]
            place = _find_constant_call(free.size, runs.steps(asked))
            finding_at_two = add_sizes(finding, "warning", [(free, 2)], False)
            yield move_finding(finding_at_two, place)
            return


STEPS = (2, 4, 8, 16, 32, 64)
"""Numbers whose multiples a program may want."""
HALVES = 6
"""How often a size is halved in search of the smallest that runs."""


def get_larger_requests(free: Sequence[Free]) -> list[Request]:
    """Return the runs with sizes larger by 1: every dim alone, then all together."""
    alone = [Request(((free_dim, free_dim.size + 1),), False) for free_dim in free]
    both = Request(tuple((free_dim, free_dim.size + 1) for free_dim in free), False)
    return [*alone, both] if len(free) > 1 else alone


def _find_failing_dims(free: Sequence[Free], runs: Runs) -> list[Free]:
    """Return the dims at whose size + 1 the program fails, provided that it also fails
    when all of them are larger by 1.
    """
    if runs.at(get_larger_requests(free)[-1]).state != "fails":
        return []
    alone = zip(free, get_larger_requests(free), strict=False)
    return [dim for dim, request in alone if runs.at(request).state == "fails"]


def _find_multiple(free: Sequence[Free], runs: Runs) -> int | None:
    """Return the smallest number whose multiples run, or None if there is none."""
    steps = [n for n in STEPS if all(free_dim.size % n == 0 for free_dim in free)]
    further = {n: [_find_larger_run(free, k * n) for k in (1, 2)] for n in steps}
    runs.ask([first for first, _ in further.values()])
    for step, (first, second) in further.items():
        if runs.at(first).state == "runs":
            runs.ask([second])
            return step if runs.at(second).state == "runs" else None
    return None


def _find_larger_run(free: Sequence[Free], step: int) -> Request:
    """Return the request for a run with every size larger by `step`."""
    return Request(tuple((free_dim, free_dim.size + step) for free_dim in free), False)


def _format_multiples(free: Sequence[Free], step: int) -> str:
    """Return a text such as `height 32, 48 and 64 run: multiples of 16`."""
    parts = [
        format_sizes(
            free_dim, [free_dim.size, free_dim.size + step, free_dim.size + 2 * step]
        )
        for free_dim in free
    ]
    return f"{' or '.join(parts)} run: multiples of {step}"


def check_sides(
    free: Sequence[Free], runs: Runs, program: Program
) -> Iterator[Finding]:
    """Check image sides and signal lengths at odd sizes and at the smallest size."""
    failing = _find_failing_dims(free, runs)
    step = _find_multiple(failing, runs) if failing else None
    if step is not None:
        cause = runs.cause(Request(((failing[0], failing[0].size + 1),), False))
        sizes = [(dim, dim.size + 1) for dim in failing]
        if cause is not None:
            finding = add_sizes(cause, "note", sizes, False, " or ")
            yield replace(
                finding, lines=(*finding.lines, _format_multiples(failing, step))
            )
        return
    yield from _report_smallest_sizes(free, runs, program)


def _report_smallest_sizes(
    free: Sequence[Free], runs: Runs, program: Program
) -> Iterator[Finding]:
    """Report outputs that have fewer dims at the smallest sizes that run."""
    requests = []
    sizes = [free_dim.size for free_dim in free]
    for _ in range(HALVES):
        sizes = [max(1, size // 2) for size in sizes]
        requests.append(Request(tuple(zip(free, sizes, strict=True)), False))
    requests = [request for request in dict.fromkeys(requests) if request.sizes]
    runs.ask(requests)
    ran = [request for request in requests if runs.at(request).state == "runs"]
    if len(ran) > 1:
        yield from _report_lost_dim(ran[-1], ran[0], runs, program)


def _report_lost_dim(
    small: Request, large: Request, runs: Runs, program: Program
) -> Iterator[Finding]:
    """Report an output whose rank at one size differs from its rank at other sizes."""
    known_shapes = [fact.shape for fact in collect_leaves(program.trace.output)]
    small_shapes, large_shapes = runs.at(small).output, runs.at(large).output
    if not len(known_shapes) == len(small_shapes) == len(large_shapes):
        return
    for out, wanted, known in zip(
        small_shapes, large_shapes, known_shapes, strict=True
    ):
        if len(wanted) == len(known) != len(out):
            steps = runs.steps([small, large])
            yield _report_rank_change(
                small, large, out, wanted, find_rank_change(*steps)
            )
            return


def _report_rank_change(
    small: Request, large: Request, out: Shape, wanted: Shape, place: Place | None
) -> Finding:
    """Return the finding for an output whose rank changes."""
    finding = Finding(LOST_DIM, "note", f"the output is {format_shape(out)}")
    sized_finding = add_sizes(finding, "note", small.sizes, False)
    where = " and ".join(free.at(size) for free, size in large.sizes)
    sized_finding = replace(
        sized_finding, lines=(f"at {where} it is {format_shape(wanted)}",)
    )
    return move_finding(sized_finding, place)


def check_sequence(free: Free, runs: Runs, program: Program) -> Iterator[Finding]:
    """Check a sequence at length 1, and at the given length plus 1."""
    shortest, more = (
        Request(((free, 1),), False),
        Request(((free, free.size + 1),), False),
    )
    beyond = runs.at(more).state == "fails"
    step = _find_multiple([free], runs) if beyond else None
    if runs.at(shortest).state == "fails":
        others = [Request(((free, n),), False) for n in (2, free.size - 1)]
        if beyond and step is None:
            runs.ask(others)
        if step is not None or any(
            runs.at(request).state == "runs" for request in (more, *others)
        ):
            yield from _report_short_sequence(free, runs, shortest, step)
        return
    if step is not None:
        cause = runs.cause(more)
        if cause is not None:
            finding = add_sizes(cause, "note", more.sizes, False)
            yield replace(
                finding, lines=(*finding.lines, _format_multiples([free], step))
            )
        return
    if not beyond:
        yield from _report_lost_dim(shortest, more, runs, program)
    trained = replace(shortest, training=True)
    cause = runs.cause(trained) if runs.at(trained).state == "fails" else None
    if cause is not None:
        yield add_sizes(cause, "note", shortest.sizes, True)


def _report_short_sequence(
    free: Free, runs: Runs, shortest: Request, step: int | None
) -> Iterator[Finding]:
    """Report what fails at sequence length 1."""
    cause = runs.cause(shortest)
    if cause is None:
        return
    finding = add_sizes(cause, "note", shortest.sizes, False)
    more: tuple[str, ...] = ()
    if step is not None:
        more = (f"{free.at(free.size + 1)} fails too", _format_multiples([free], step))
    yield replace(finding, lines=(*finding.lines, *more))


def get_sequence_requests(free: Free) -> list[Request]:
    """Return the runs needed to check a sequence dim."""
    ways = [(1, False), (free.size + 1, False), (1, True)]
    return [Request(((free, size),), mode) for size, mode in ways if size != free.size]
