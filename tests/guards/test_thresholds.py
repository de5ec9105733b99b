"""Where a comparison comes out the other way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapewright.engine.tracked_sizes.comparisons import Comparisons
from shapewright.engine.tracked_sizes.numbers import track_number
from shapewright.record.guards import Guard, SizeRead
from tests.guards.thresholds import thresholds

CASES: list[tuple[Callable[[Any], Any], int, tuple[int, ...]]] = [
    (lambda t: t <= 1024, 16, (1025,)),
    (lambda t: t < 1024, 16, (1024,)),
    (lambda t: t > 5_000_000, 16, (5_000_001,)),
    (lambda t: t == 7, 16, (7, 8)),
    (lambda t: t != 7, 16, (7, 8)),
    (lambda t: t == 1, 16, (1, 2)),
    (lambda t: t >= 1, 16, (1,)),
    (lambda t: t >= 0, 16, ()),
    (lambda t: t > -4, 16, ()),
    (lambda t: 2 * t + 1 > 100, 16, (50,)),
    (lambda t: 100 - t > 3, 16, (97,)),
    (lambda t: t / 3 == 2, 16, (6, 7)),
    (lambda t: t * 0.5 >= 2.75, 16, (6,)),
    (lambda t: t * 2 == 7, 16, ()),
    (lambda t: t - t == 0, 16, ()),
    (lambda t: t // 4 > 10, 16, (44,)),
    (lambda t: (t + 1) // 2 < 3000, 16, (5999,)),
    (lambda t: t % 8 == 0, 30, (16, 17, 24, 25, 32, 33, 40, 41)),
    (lambda t: t % 100 == 0, 30, (1, 100, 101, 200, 201, 300, 301, 400)),
    (lambda t: t**2 > 10_000, 16, (101,)),
    (lambda t: t**2 > 10**10, 16, (100_001,)),
    (lambda t: t**0.5 >= 4, 9, (16,)),
    (lambda t: (t // 2) * (t // 4) > 100, 16, (30,)),
    (lambda t: abs(t - 10) < 3, 16, (8, 13)),
    (lambda t: 64 // t > 3, 10, (17,)),
    (lambda t: 64 // t > 3, 1_000_000, (17,)),
    (
        lambda t: t % 99 == 3,
        700_000,
        tuple(
            at + extra
            for at in (699_834, 699_933, 700_032, 700_131)
            for extra in (0, 1)
        ),
    ),
    (lambda t: 2**t > 1000, 5, (10,)),
    (lambda t: 1 << t > 1000, 5, (10,)),
    (lambda t: t ** (t * t) > 10**9, 2, (4,)),
    (lambda t: t & (t - 1) == 0, 6, (3, 4, 5, 8, 9, 16, 17, 32)),
]


def guard_of(compare: Callable[[Any], Any], size: int) -> tuple[Guard, SizeRead]:
    """The last comparison that a function makes of a size."""
    found: list[Any] = []

    class Seen(Comparisons):
        def compared(self, *sides: Any) -> None:
            found.append(sides)

    read = SizeRead(1, 0, size)
    compare(track_number(size, read, 1, Seen()))
    return Guard(*found[-1], None), read


@pytest.mark.parametrize(("compare", "size", "expected"), CASES)
def test_a_comparison_changes_there(
    compare: Callable[[Any], Any], size: int, expected: tuple[int, ...]
) -> None:
    guard, read = guard_of(compare, size)
    assert thresholds(guard)[read] == expected


@given(
    st.integers(1, 6), st.integers(-9, 60), st.sampled_from("< <= == != >= >".split()),
    st.integers(-5, 200), st.sampled_from(["*", "//", "%", "/"]), st.integers(1, 300),
)  # fmt: skip
def test_no_change_is_missed_and_none_invented(
    factor: int, shift: int, symbol: str, bound: int, operator: str, size: int
) -> None:
    program = f"(t {operator} {factor} + {shift}) {symbol} {bound}"
    guard, read = guard_of(lambda t: eval(program, {"t": t}), size)
    changes = [
        t for t in range(1, 3000)
        if eval(program, {"t": t}) is not eval(program, {"t": t - 1})
    ]  # fmt: skip
    nearest = sorted(changes, key=lambda t: abs(t - size))[:8]
    assert thresholds(guard)[read] == tuple(sorted(nearest))


def test_the_other_reads_stay_as_they_are() -> None:
    height, width = SizeRead(1, 2, 30), SizeRead(1, 3, 40)
    found = thresholds(Guard(height, "<", width, True, None))
    assert found == {height: (40,), width: (31,)}
