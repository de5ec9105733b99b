"""Find the largest batch that fits, in few rehearsed steps.

Memory grows with the batch in straight pieces, so two runs say nearly where it meets
the capacity. The answer is exact when a size fits and the next one does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MOST_RUNS = 6
"""Sizes that are tried, at most."""


@dataclass(frozen=True, slots=True)
class _BatchSearch:
    """The largest size that fits, 0 if none does, and the bytes of every size tried.

    `is_exact` says that one more does not fit, by running it.
    """

    size: int
    tried: dict[int, int]
    is_exact: bool


def find_largest_batch(
    measure: Callable[[int], int], start: int, capacity: int, most: int = MOST_RUNS
) -> _BatchSearch:
    """Find the largest size whose bytes, as `measure` gives them, are within capacity.

    It is taken for granted that more never takes less.

    Example::

        >>> find_largest_batch(lambda size: 100 + 7 * size, 8, 1000).size
        128
    """
    start = max(start, 1)
    tried = {start: measure(start)}
    while len(tried) < most:
        fitting, failing = _find_bounds(tried, capacity)
        if failing == fitting + 1:
            break
        size = _estimate(tried, capacity)
        if size is None:
            size = 2 * start if fitting else max(start // 2, 1)
        size = max(size, fitting + 1)
        if failing is not None:
            size = min(size, failing - 1)
        tried[size] = measure(size)
    fitting, failing = _find_bounds(tried, capacity)
    return _BatchSearch(fitting, tried, failing == fitting + 1)


def _find_bounds(tried: dict[int, int], capacity: int) -> tuple[int, int | None]:
    """Return the largest size that fits, or 0, and the smallest that does not."""
    fitting = max((n for n, size in tried.items() if size <= capacity), default=0)
    failing = min((n for n, size in tried.items() if size > capacity), default=None)
    return fitting, failing


def _estimate(tried: dict[int, int], capacity: int) -> int | None:
    """Return the size at which a line through the two nearest runs meets the capacity.

    None if there is no such line.
    """
    if len(tried) < 2:
        return None
    first, second = sorted(tried, key=lambda n: abs(tried[n] - capacity))[:2]
    slope = (tried[second] - tried[first]) / (second - first)
    if slope <= 0:
        return 4 * max(tried)
    return int(first + (capacity - tried[first]) // slope)
