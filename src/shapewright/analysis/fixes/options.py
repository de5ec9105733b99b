"""A fix to try, and how likely it is that the user meant it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import as_far_as_known
from shapewright.findings.finding import Fix

STEP = 0.01
"""How much dearer each further change of one kind is."""


@dataclass(frozen=True, slots=True)
class FixOption:
    """A fix to try. The lower its `cost`, the likelier that it is what
    the user meant.
    """

    fix: Fix
    kind: str
    cost: float


def iter_options(kind: str, cost: float, fixes: Iterable[Fix]) -> Iterator[FixOption]:
    """Yield one option per fix, all of the same kind, each costing more than the
    previous one.
    """
    for n, fix in enumerate(as_far_as_known(fixes)):
        yield FixOption(fix, kind, cost + n * STEP)
