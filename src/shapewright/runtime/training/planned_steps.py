"""For how many steps a scheduler is planned, as far as it says so itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import ceil, log
from types import FunctionType
from typing import Any

PLANS = {
    "OneCycleLR": "total_steps",
    "CosineAnnealingLR": "T_max",
    "PolynomialLR": "total_iters",
}
"""The attribute that holds the number of steps, by the class of torch."""
VANISHING = ("StepLR", "MultiStepLR", "ExponentialLR")
"""Schedulers that multiply the learning rate again and again."""
VANISHED = 1e-6
TOTALS = ("num_training_steps", "total_steps", "max_steps", "total_iters")
"""Words for the number of steps in functions of other libraries."""
FEWEST = 4
FEWEST_OF_WAVE = 2
"""The least `T_max` of a cosine: stepped more often than that, it swings."""


def find_planned_steps(scheduler: Any) -> int | None:
    """Return the number of steps after which a schedule has reached its end, or None.

    Example: 240 for ``CosineAnnealingLR(optimizer, T_max=240)``, and for a `LambdaLR`
    whose factor falls to 0 at a step 240 that its function reads. Of a `StepLR`, the
    step after which the learning rate is a millionth of what it was.
    """
    kind = type(scheduler).__name__
    if kind in VANISHING:
        return _find_vanishing(scheduler)
    name = PLANS.get(kind)
    plan = getattr(scheduler, name, None) if name is not None else None
    if plan is None and kind == "LambdaLR":
        factors = scheduler.lr_lambdas
        plan = _find_end(factors[0]) if factors else None
    fewest = FEWEST_OF_WAVE if kind == "CosineAnnealingLR" else FEWEST
    return plan if type(plan) is int and plan >= fewest else None


def iter_planned_parts(sequence: Any) -> Iterator[tuple[Any, int, int, int | None]]:
    """Yield the cosines of a `SequentialLR`: each with its plan, its first step and the
    step after its last one, which is None for the last part.
    """
    starts = [0, *sequence._milestones]
    for at, part in enumerate(sequence._schedulers):
        is_cosine = type(part).__name__ == "CosineAnnealingLR"
        plan = find_planned_steps(part) if is_cosine else None
        if plan is not None:
            yield part, plan, starts[at], next(iter(starts[at + 1 :]), None)


def _find_vanishing(scheduler: Any) -> int | None:
    """Return the step after which a rate is at most a millionth of its first value."""
    gamma = getattr(scheduler, "gamma", None)
    if not isinstance(gamma, float) or not 0 < gamma < 1:
        return None
    times = ceil(log(VANISHED) / log(gamma))
    if type(scheduler).__name__ == "MultiStepLR":
        ends = sorted(scheduler.milestones.elements())
        return ends[times - 1] if len(ends) >= times else None
    return times * getattr(scheduler, "step_size", 1)


def _find_end(factor: Any) -> int | None:
    """Return the step at which a function of the step first is 0, or None."""
    if isinstance(factor, partial):
        numbers = [factor.keywords.get(word) for word in TOTALS]
        return next((number for number in numbers if type(number) is int), None)
    if not isinstance(factor, FunctionType) or "torch" in factor.__code__.co_names:
        return None
    values = [factor.__globals__.get(name) for name in factor.__code__.co_names]
    try:
        values += [cell.cell_contents for cell in factor.__closure__ or ()]
        for number in values:
            if type(number) is int and number >= FEWEST:
                ends = float(factor(number)), float(factor(number // 2))
                if abs(ends[0]) < 1e-6 and ends[1] > 1e-3:
                    return number
    except Exception:  # the program's function
        return None
    return None


LATEST = 17
"""Powers of two up to which a schedule is asked for its factor."""


def find_highest_factor(scheduler: Any) -> float | None:
    """Return the largest factor of a `LambdaLR`, as far as its function tells.

    Example: 0.0028 for the rate of "Attention is all you need" itself, with a width of
    32 and 4,000 steps of warm-up.
    """
    if type(scheduler).__name__ != "LambdaLR" or not scheduler.lr_lambdas:
        return None
    steps = {0, *(1 << power for power in range(LATEST)), *range(0, 10_000, 500)}
    try:
        factor = scheduler.lr_lambdas[0]
        values = [factor(step) for step in sorted(steps)]
        return max(float(value) for value in values)
    except Exception:  # the program's function
        return None
