"""Windows over a size: `g*((p*u + q)//r) + b` through all that was seen.

>>> from shapewright.dims.expression import Letter
>>> str(next(windows((31, 32, 33, 40), (15, 16, 16, 20))).of(Letter("H")))
'H//2'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import gcd

from shapewright.dims.expression import Expression
from shapewright.dims.rounding import divided, shifted

Column = tuple[int, ...]

STRIDES = (2, 4, 8, 16, 32, 3, 5, 6, 7, 9, 10, 12, 14, 20, 24, 28, 40, 48, 56, 64, 128)
SEEN = 4
"""Different numbers that a stride is believed from which no argument has."""

SLOPES = (1, 2, 3, 4, 5, 7, 8)


@dataclass(frozen=True, slots=True)
class Window:
    """`scale*((slope*u + step)//stride) + base`.

    `likely`: an argument of the call has the stride.
    """

    slope: int
    step: int
    stride: int
    scale: int = 1
    base: int = 0
    likely: bool = True

    def of(self, size: Expression) -> Expression:
        """The formula over that of the size that went in."""
        inner = divided(shifted(size * self.slope, self.step), self.stride)
        return shifted(inner * self.scale, self.base)


def windows(
    known: Column, column: Column, hints: tuple[int, ...] = ()
) -> Iterator[Window]:
    """Every window that fits, likely strides first: `hints`, then usual ones.

    Where hinted strides fit, no others are looked for. One number that differs from
    all others is no evidence of a window.
    """
    seen = Counter(column)
    if len(seen) == 2 and min(seen.values()) == 1 and len(column) > SEEN:
        return
    scale, base = common(column)
    hinted = [each for each in dict.fromkeys(hints) if each > 1]
    found = [*through(known, column, hinted, 1, 0)]
    shrunk = tuple((each - base) // scale for each in column)
    if not found and scale > 1 and len(set(column)) > 2:  # rounded to a multiple
        found = [*through(known, shrunk, [scale, *hinted], scale, base)]
    if not found and len(set(column)) >= SEEN:
        found = [*guessed(through(known, column, list(STRIDES), 1, 0))]
    if not found and scale > 1 and len(set(column)) >= SEEN:
        found = [*guessed(through(known, shrunk, [*STRIDES], scale, base))]
    yield from found


def guessed(found: Iterator[Window]) -> Iterator[Window]:
    """The windows that programs have, where no argument says so."""
    for each in found:
        plain = each.slope == 1 or each.stride <= 4
        if plain and each.step < 2 * each.stride:
            yield replace(each, likely=False)


def common(column: Column) -> tuple[int, int]:
    """The greatest step between what was seen, and where the steps begin."""
    step = 0
    for each in column:
        step = gcd(step, each - column[0])
    return (step, column[0] % step) if step > 1 else (1, 0)


def through(
    known: Column, column: Column, strides: list[int], scale: int, base: int
) -> Iterator[Window]:
    """The windows with these strides, each step that is possible."""
    points = sorted(set(zip(known, column, strict=True)))
    if len({u for u, _ in points}) < 3:
        return
    run = points[-1][0] - points[0][0]
    rise = points[-1][1] - points[0][1]
    if rise <= 0:
        return
    for stride in strides:
        for slope in SLOPES:
            if abs(slope * run - rise * stride) >= 2 * stride or gcd(slope, stride) > 1:
                continue
            low = max(v * stride - slope * u for u, v in points)
            high = min(v * stride + stride - 1 - slope * u for u, v in points)
            for step in usual(low, high):
                yield Window(slope, step, stride, scale, base)


def usual(low: int, high: int) -> list[int]:
    """Steps of an interval, those that programs have first: 0, then the ends."""
    if high < low:
        return []
    first = [0] if low <= 0 <= high else []
    return list(dict.fromkeys([*first, high, low, *range(low, high + 1)]))
