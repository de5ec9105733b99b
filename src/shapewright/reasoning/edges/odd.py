"""What breaks one step beside the given sizes, and runs at multiples of a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shapewright.findings.finding import Finding
from shapewright.reasoning.edges.asking import Request, Runs
from shapewright.reasoning.edges.free import Free
from shapewright.reasoning.edges.seen import Shape
from shapewright.reasoning.edges.telling import (
    Place,
    at_sizes,
    first_other,
    listed,
    placed,
    text,
)
from shapewright.reasoning.program import Program
from shapewright.trace.module import leaves

STEPS = (2, 4, 8, 16, 32, 64)
"""Numbers whose multiples a program may want."""
HALVES = 6
"""How often a size is halved in search of the smallest that runs."""


def beside(free: Sequence[Free]) -> list[Request]:
    """The runs with one more: each dim alone, and all."""
    alone = [Request(((each, each.size + 1),), False) for each in free]
    both = Request(tuple((each, each.size + 1) for each in free), False)
    return [*alone, both] if len(free) > 1 else alone


def fails_beside(free: Sequence[Free], runs: Runs) -> list[Free]:
    """The dims that fail with one more, where all of them with one more fail too."""
    if runs.at(beside(free)[-1]).state != "fails":
        return []
    alone = zip(free, beside(free), strict=False)
    return [each for each, request in alone if runs.at(request).state == "fails"]


def multiple(free: Sequence[Free], runs: Runs) -> int | None:
    """The smallest number whose multiples run; None where no other size does."""
    steps = [n for n in STEPS if all(each.size % n == 0 for each in free)]
    further = {n: [further_by(free, k * n) for k in (1, 2)] for n in steps}
    runs.ask([first for first, _ in further.values()])
    for step, (first, second) in further.items():
        if runs.at(first).state == "runs":
            runs.ask([second])
            return step if runs.at(second).state == "runs" else None
    return None


def further_by(free: Sequence[Free], step: int) -> Request:
    """A run with sizes that are larger by a number."""
    return Request(tuple((each, each.size + step) for each in free), False)


def taken(free: Sequence[Free], step: int) -> str:
    """`height 32, 48 and 64 run: multiples of 16`."""
    parts = [
        listed(each, [each.size, each.size + step, each.size + 2 * step])
        for each in free
    ]
    return f"{' or '.join(parts)} run: multiples of {step}"


def of_sides(free: Sequence[Free], runs: Runs, program: Program) -> Iterator[Finding]:
    """Sides of an image, the length of a signal: odd ones, and the smallest."""
    failing = fails_beside(free, runs)
    step = multiple(failing, runs) if failing else None
    if step is not None:
        cause = runs.cause(Request(((failing[0], failing[0].size + 1),), False))
        sizes = [(each, each.size + 1) for each in failing]
        if cause is not None:
            made = at_sizes(cause, "note", sizes, False, " or ")
            yield replace(made, lines=(*made.lines, taken(failing, step)))
        return
    yield from of_smallest(free, runs, program)


def of_smallest(
    free: Sequence[Free], runs: Runs, program: Program
) -> Iterator[Finding]:
    """The smallest sides that run, where less comes out than of larger ones."""
    requests = []
    sizes = [each.size for each in free]
    for _ in range(HALVES):
        sizes = [max(1, size // 2) for size in sizes]
        requests.append(Request(tuple(zip(free, sizes, strict=True)), False))
    requests = [each for each in dict.fromkeys(requests) if each.sizes]
    runs.ask(requests)
    ran = [each for each in requests if runs.at(each).state == "runs"]
    if len(ran) > 1:
        yield from lost_dim(ran[-1], ran[0], runs, program)


def lost_dim(
    small: Request, large: Request, runs: Runs, program: Program
) -> Iterator[Finding]:
    """A size at which an output has other dims than at a larger one and as given."""
    given = [fact.shape for fact in leaves(program.trace.output)]
    one, other = runs.at(small).output, runs.at(large).output
    if not len(given) == len(one) == len(other):
        return
    for out, wanted, known in zip(one, other, given, strict=True):
        if len(wanted) == len(known) != len(out):
            steps = runs.steps([small, large])
            yield told_lost(small, large, out, wanted, first_other(*steps))
            return


def told_lost(
    small: Request, large: Request, out: Shape, wanted: Shape, place: Place | None
) -> Finding:
    """The finding of an output that has other dims."""
    found = Finding("lost-dim", "note", f"the output is {text(out)}")
    made = at_sizes(found, "note", small.sizes, False)
    where = " and ".join(free.at(size) for free, size in large.sizes)
    made = replace(made, lines=(f"at {where} it is {text(wanted)}",))
    return placed(made, place)


def of_sequence(free: Free, runs: Runs, program: Program) -> Iterator[Finding]:
    """One step, and one more than given."""
    one, more = Request(((free, 1),), False), Request(((free, free.size + 1),), False)
    beyond = runs.at(more).state == "fails"
    step = multiple([free], runs) if beyond else None
    if runs.at(one).state == "fails":
        others = [Request(((free, n),), False) for n in (2, free.size - 1)]
        if beyond and step is None:
            runs.ask(others)
        if step is not None or any(
            runs.at(each).state == "runs" for each in (more, *others)
        ):
            yield from short(free, runs, one, step)
        return
    if step is not None:
        cause = runs.cause(more)
        if cause is not None:
            made = at_sizes(cause, "note", more.sizes, False)
            yield replace(made, lines=(*made.lines, taken([free], step)))
        return
    if not beyond:
        yield from lost_dim(one, more, runs, program)
    trained = replace(one, training=True)
    cause = runs.cause(trained) if runs.at(trained).state == "fails" else None
    if cause is not None:
        yield at_sizes(cause, "note", one.sizes, True)


def short(free: Free, runs: Runs, one: Request, step: int | None) -> Iterator[Finding]:
    """What fails with one step."""
    cause = runs.cause(one)
    if cause is None:
        return
    made = at_sizes(cause, "note", one.sizes, False)
    more: tuple[str, ...] = ()
    if step is not None:
        more = (f"{free.at(free.size + 1)} fails too", taken([free], step))
    yield replace(made, lines=(*made.lines, *more))


def first_steps(free: Free) -> list[Request]:
    """The runs that a sequence is judged by."""
    ways = [(1, False), (free.size + 1, False), (1, True)]
    return [Request(((free, size),), mode) for size, mode in ways if size != free.size]
