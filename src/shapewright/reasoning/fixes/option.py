"""One change that may repair a failure, and how likely it is meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shapewright.findings.fix import Fix
from shapewright.reasoning.faults import as_far_as_known

STEP = 0.01
"""How much dearer each further change of one kind is."""


@dataclass(frozen=True, slots=True)
class Option:
    """A fix to try. The lower its `cost`, the likelier it is what was meant."""

    fix: Fix
    kind: str
    cost: float


def options(kind: str, cost: float, fixes: Iterable[Fix]) -> Iterator[Option]:
    """Fixes of one kind, the likelier first."""
    for n, fix in enumerate(as_far_as_known(fixes)):
        yield Option(fix, kind, cost + n * STEP)
