"""Find the largest batch that fits, in few rehearsed steps.

Two runs at different sizes make the same allocations, and each of these grows in a
straight line. So their events at any other size are known, the allocator is replayed
on them, and the size at which the device is full is found without running. It is then
verified by running it, and one more. Where runs are not alike, the memory itself is
taken to grow in a straight line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shapewright.record.memory import Event

MOST_RUNS = 6
"""Sizes that are tried, at most."""

FARTHEST = 4
"""How many times the estimated size the search goes."""


@dataclass(frozen=True, slots=True)
class _BatchSearch:
    """The largest size that fits, 0 if none does, and the bytes of every size tried.

    `is_exact` says that one more does not fit, by running it.
    """

    size: int
    tried: dict[int, int]
    is_exact: bool


def find_largest_batch(
    measure: Callable[[int], int],
    start: int,
    capacity: int,
    most: int = MOST_RUNS,
    predict: Callable[[int], int | None] | None = None,
) -> _BatchSearch:
    """Find the largest size whose bytes, as `measure` gives them, are within capacity.

    It is taken for granted that more never takes less. `predict` gives the bytes of a
    size without running it, None where it cannot; it is asked after two runs.

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
        size = _estimate_size(tried, capacity)
        if size is None:
            size = 2 * start if fitting else max(start // 2, 1)
        elif predict is not None:
            end = failing or FARTHEST * max(size, 1)
            predicted = _find_predicted_size(predict, fitting, end, capacity)
            size = size if predicted is None else predicted
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


def _estimate_size(tried: dict[int, int], capacity: int) -> int | None:
    """Return the size at which a line through the two nearest runs meets the capacity.

    None if there is no such line.
    """
    if len(tried) < 2:
        return None
    first, second = sorted(tried, key=lambda n: abs(tried[n] - capacity))[:2]
    slope = (tried[second] - tried[first]) / (second - first)
    if slope <= 0:
        return FARTHEST * max(tried)
    return int(first + (capacity - tried[first]) // slope)


def _find_predicted_size(
    predict: Callable[[int], int | None], fitting: int, failing: int, capacity: int
) -> int | None:
    """Return the largest size that is predicted to fit; None without predictions."""
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        size = predict(middle)
        if size is None:
            return None
        if size <= capacity:
            fitting = middle
        else:
            failing = middle
    return fitting


def estimate_events(
    runs: Mapping[int, Sequence[Event]], size: int
) -> list[Event] | None:
    """Return the events of a run at another size, from the two runs nearest to it.

    None if the two did not do the same in the same order. Example: a storage that had
    800 bytes at 8 and 1,600 at 16 has 400 at 4.
    """
    first, second = sorted(runs, key=lambda known: abs(known - size))[:2]
    events, others = runs[first], runs[second]
    if len(events) != len(others):
        return None
    extrapolated = []
    for event, other in zip(events, others, strict=True):
        if event.action != other.action or event.storage != other.storage:
            return None
        change = (other.bytes - event.bytes) * (size - first)
        grown = event.bytes + round(change / (second - first))
        extrapolated.append(
            Event(event.action, event.storage, max(grown, 0), event.step, event.phase)
        )
    return extrapolated
