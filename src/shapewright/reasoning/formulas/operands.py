"""The formulas of what one call got, from runs that may end at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shapewright.reasoning.formulas.aligning import Sample, aligned
from shapewright.reasoning.formulas.fitted import Dims, Formula, Work


def operands(
    samples: Sequence[Sample], checks: Sequence[Sample], call: int
) -> list[Dims]:
    """The dims of each tensor that a call of the first sample got, as formulas.

    None stands for a dim without one. Each is fitted to `samples`, and kept where
    every run of `checks` that made the call agrees, and at least one does.
    """
    first = samples[0]
    work = Work(samples)
    work.done()
    found = work.entering(call)
    places = [aligned(first, each)[call] for each in checks]
    made = [
        (each, at) for each, at in zip(checks, places, strict=True) if at is not None
    ]
    known = set(first.letters)

    def kept(formula: Formula, nth: int, dim: int) -> Formula:
        if formula is None or not made or not formula.letters() <= known:
            return None
        for each, at in made:
            shapes = each.taken[at]
            if nth >= len(shapes) or dim >= len(shapes[nth]):
                return None
            if formula.value(each.letters) != shapes[nth][dim]:
                return None
        return formula

    return [
        tuple(kept(formula, nth, dim) for dim, formula in enumerate(dims))
        for nth, dims in enumerate(found)
    ]


def until(sample: Any, call: int) -> Any:
    """A sample as far as a call that was refused: what it got, not what it gave."""
    return replace(
        sample,
        keys=sample.keys[: call + 1],
        taken=sample.taken[: call + 1],
        given=(*sample.given[:call], ()),
        steps=(*sample.steps[:call], ()),
        numbers=sample.numbers[: call + 1],
    )
