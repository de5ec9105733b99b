"""What may be changed in the program's text, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shapewright.findings.finding import Finding
from shapewright.findings.fix import Fix
from shapewright.reasoning.fixes import calls, constructors, numbers, words
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure

MOST = 24
"""Candidates of one tier that are tried."""


Tier = list[Fix]
"""Fixes that are as likely as each other; a later tier is tried where none helped."""


def candidates(program: Program, failure: Failure) -> Iterator[Tier]:
    """Fixes to try, each once, in tiers: first what the sizes themselves point at."""
    seen: dict[tuple[object, ...], Fix] = {}
    for tier in (pointed, likely, possible):
        yield once(tier(program, failure), seen)


def of_program_error(program: Program, finding: Finding) -> Iterator[Tier]:
    """Fixes to try for an error that the program itself raised."""
    seen: dict[tuple[object, ...], Fix] = {}
    yield once(words.near(program, finding.span), seen)
    yield once(numbers.near(program, finding.span, []), seen)


def once(fixes: Iterable[Fix], seen: dict[tuple[object, ...], Fix]) -> Tier:
    """Those with edits that were not seen before."""
    found = []
    for fix in fixes:
        key = tuple((edit.span, edit.text) for edit in fix.edits)
        if key not in seen:
            seen[key] = fix
            found.append(fix)
    return found[:MOST]


def pointed(program: Program, failure: Failure) -> Iterator[Fix]:
    """What a size, a dtype or a stride of the call itself points at."""
    yield from calls.of_dtype(program, failure)
    yield from calls.of_storage(program, failure)
    yield from calls.of_order(program, failure, sure=True)
    yield from constructors.of_consumer(program, failure)
    yield from constructors.of_layer(program, failure)
    yield from numbers.of_dims(program, failure)


def likely(program: Program, failure: Failure) -> Iterator[Fix]:
    """A dim too many or too few, what is often forgotten, the layer before."""
    if failure.error != "IndexError":
        yield from calls.of_rank(program, failure)
    yield from words.of_failure(program, failure)
    yield from constructors.of_producer(program, failure)


def possible(program: Program, failure: Failure) -> Iterator[Fix]:
    """Another number somewhere near."""
    yield from numbers.of_failure(program, failure)
    yield from calls.of_order(program, failure, sure=False)
