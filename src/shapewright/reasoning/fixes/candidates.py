"""What may be changed in the program's text, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.findings.fix import Fix
from shapewright.reasoning.fixes import calls, constructors
from shapewright.reasoning.program import Program
from shapewright.rules.needs.failure import Failure

MOST = 14
"""Candidates of one failure that are tried."""


def candidates(program: Program, failure: Failure) -> list[Fix]:
    """Fixes to try, each once."""
    found: dict[tuple[object, ...], Fix] = {}
    for fix in ordered(program, failure):
        key = tuple((edit.span, edit.text) for edit in fix.edits)
        found.setdefault(key, fix)
    return list(found.values())[:MOST]


def ordered(program: Program, failure: Failure) -> Iterator[Fix]:
    """First what the sizes themselves point at, then the layer, then the rest."""
    yield from calls.of_dtype(program, failure)
    yield from calls.of_storage(program, failure)
    yield from calls.of_order(program, failure, sure=True)
    yield from constructors.of_consumer(program, failure)
    yield from constructors.of_producer(program, failure)
    yield from calls.of_order(program, failure, sure=False)
    yield from calls.of_rank(program, failure)
