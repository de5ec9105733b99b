"""Interleaved rounds: subjects take turns in an order drawn anew for each round.

Nobody runs always first, nobody always after the same neighbour, and a slow minute of
the machine falls on all. Ratios are taken within a round, then summed up.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO

import torch

Prepare = Callable[[], Callable[[], object]]
"""Prepares one measurement outside the clock and returns what the clock runs."""

AFTERWARDS: list[Callable[[], None]] = []
"""Run after each measurement, outside the clock: undo what a subject left behind."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Median with the middle half of the values."""

    median: float
    low: float
    high: float

    def text(self, digits: int = 2, scale: float = 1.0) -> str:
        """`0.15 (0.14 to 0.17)`."""
        median, low, high = (v * scale for v in (self.median, self.low, self.high))
        return f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def spread(values: list[float]) -> Spread:
    """Median and quartiles of at least one value."""
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


@dataclass(slots=True)
class Rounds:
    """Seconds of each subject in each round, or why it refuses."""

    seconds: dict[str, list[float]]
    refused: dict[str, str]

    def time(self, name: str) -> Spread:
        """Seconds of a subject."""
        return spread(self.seconds[name])

    def ratio(self, name: str, base: str) -> Spread:
        """A subject's time by another's of the same round."""
        pairs = zip(self.seconds[name], self.seconds[base], strict=True)
        return spread([one / other for one, other in pairs])


def clocked(prepare: Prepare) -> float:
    """Seconds of one call under `no_grad`: garbage is collected before, the result
    freed after.
    """
    with torch.no_grad(), warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        run = prepare()
        gc.collect()
        try:
            began = time.perf_counter()
            result = run()
            took = time.perf_counter() - began
            del result
            return took
        finally:
            for undo in AFTERWARDS:
                undo()


def interleaved(
    subjects: Mapping[str, Prepare], rounds: int, seed: int = 20_08
) -> Rounds:
    """Measure all subjects `rounds` times, after one round that only warms up.

    A subject that raises in the first round is out, with its reason.
    """
    result = Rounds({}, {})
    for name, prepare in subjects.items():
        try:
            clocked(prepare)
            result.seconds[name] = []
        except Exception as error:
            result.refused[name] = reason(error)
    order = list(result.seconds)
    draw = random.Random(seed)
    for number in range(rounds):
        draw.shuffle(order)
        for name in order:
            result.seconds[name].append(clocked(subjects[name]))
        print(f"\r  round {number + 1} of {rounds}", end="", file=sys.stderr)
    print(file=sys.stderr)
    return result


def reason(error: BaseException) -> str:
    """The deepest cause of a refusal, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]
