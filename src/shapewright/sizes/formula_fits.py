"""Formulas, with sliding windows, that fit sizes seen at several letter values.

>>> from shapewright.sizes.expressions import Letter
>>> str(next(windows((31, 32, 33, 40), (15, 16, 16, 20))).of(Letter("H")))
'H//2'

    >>> fitter = Fitter({"H": (32, 45, 51, 64, 77, 90, 97), "B": (2, 3, 4, 5, 6, 7, 8)})
    >>> str(fitter.fit((8, 11, 12, 16, 19, 22, 24)).formula)
    'H//4'
    >>> str(fitter.fit((64, 135, 204, 320, 462, 630, 776)).formula)
    'B*H'

What is seen is a column: one number for each run. A column that stands for a known
formula gets that formula; another is looked for in the families that the arithmetic of
shapes stays in, first over the sizes `near` it (those of the tensors that went in).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from shapewright.sizes.expressions import (
    Expression,
    Letter,
    least,
    most,
    number,
    product,
    total,
)
from shapewright.sizes.floor_division import clamp_formula, divide_floor, shift_sum

Column = tuple[int, ...]

STRIDES = (2, 4, 8, 16, 32, 3, 5, 6, 7, 9, 10, 12, 14, 20, 24, 28, 40, 48, 56, 64, 128)
SEEN = 4
"""Different numbers that a stride is believed from which no argument has."""

SLOPES = (1, 2, 3, 4, 5, 7, 8)


@dataclass(frozen=True, slots=True)
class _Window:
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
        """Return the window's formula applied to the formula of the input size."""
        inner = divide_floor(shift_sum(size * self.slope, self.step), self.stride)
        return shift_sum(inner * self.scale, self.base)


def _iter_windows(
    known: Column, column: Column, hints: tuple[int, ...] = ()
) -> Iterator[_Window]:
    """Yield every window that fits, likely strides first: `hints`, then usual ones.

    Where hinted strides fit, no others are looked for. One number that differs from
    all others is no evidence of a window.
    """
    seen = Counter(column)
    if len(seen) == 2 and min(seen.values()) == 1 and len(column) > SEEN:
        return
    scale, base = _find_common_step(column)
    hinted = [hint for hint in dict.fromkeys(hints) if hint > 1]
    windows = [*_iter_windows_through(known, column, hinted, 1, 0)]
    shrunk = tuple((size - base) // scale for size in column)
    if not windows and scale > 1 and len(set(column)) > 2:  # rounded to a multiple
        windows = [*_iter_windows_through(known, shrunk, [scale, *hinted], scale, base)]
    if not windows and len(set(column)) >= SEEN:
        windows = [
            *_filter_guessed(_iter_windows_through(known, column, list(STRIDES), 1, 0))
        ]
    if not windows and scale > 1 and len(set(column)) >= SEEN:
        windows = [
            *_filter_guessed(
                _iter_windows_through(known, shrunk, [*STRIDES], scale, base)
            )
        ]
    yield from windows


def _filter_guessed(windows: Iterator[_Window]) -> Iterator[_Window]:
    """Filter windows found without hints to those that are usual in programs."""
    for window in windows:
        plain = window.slope == 1 or window.stride <= 4
        if plain and window.step < 2 * window.stride:
            yield replace(window, likely=False)


def _find_common_step(column: Column) -> tuple[int, int]:
    """Return the greatest common step of the values seen, and their offset."""
    step = 0
    for size in column:
        step = gcd(step, size - column[0])
    return (step, column[0] % step) if step > 1 else (1, 0)


def _iter_windows_through(
    known: Column, column: Column, strides: list[int], scale: int, base: int
) -> Iterator[_Window]:
    """Yield the windows with these strides, with every possible step."""
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
            for step in _list_usual_steps(low, high):
                yield _Window(slope, step, stride, scale, base)


def _list_usual_steps(low: int, high: int) -> list[int]:
    """Return the steps of an interval, usual ones first: 0, then the ends."""
    if high < low:
        return []
    first = [0] if low <= 0 <= high else []
    return list(dict.fromkeys([*first, high, low, *range(low, high + 1)]))


DEEPEST = 3
"""Largest number of factors into which a product is split."""

POOL = 24
"""Largest number of earlier sizes with which a new size is compared."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A formula for a column, and rivals that fit as well so far."""

    formula: Expression
    rivals: tuple[Expression, ...] = ()


class Fitter:
    """Finds formulas and remembers those it has found."""

    def __init__(self, letters: Mapping[str, Column]) -> None:
        self.letters = dict(letters)
        self.known: dict[Column, Fit | None] = {}
        self.pool: list[Column] = []
        self.learnt: dict[int, int] = {}
        self.guessed = 0  # formulas with a stride that no argument has
        for name, column in letters.items():
            if column not in self.known and len(set(column)) > 1:
                self.known[column] = Fit(Letter(name))
                self.pool.append(column)

    def fit(
        self,
        column: Column,
        near: Iterable[Column] = (),
        hints: Iterable[int] = (),
    ) -> Fit | None:
        """Return the formula of a column; None if no family fits.

        `near` are columns of the tensors that went in, `hints` whole numbers among
        the arguments of the call: strides, block sizes.
        """
        if len(set(column)) == 1:
            return Fit(number(column[0]))
        if column in self.known:
            return self.known[column]
        others = [
            other_column
            for other_column in dict.fromkeys(near)
            if self.known.get(other_column)
        ]
        recent = [
            column_of_pool
            for column_of_pool in self.pool
            if column_of_pool not in others
        ]
        pool = [
            *others,
            *recent[: len(self.letters)],
            *recent[len(self.letters) :][-POOL:],
        ]
        fit = self.search(column, pool, len(others), tuple(dict.fromkeys(hints)))
        self.known[column] = fit
        if fit is not None:
            self.pool.append(column)
        return fit

    def search(
        self, column: Column, pool: Sequence[Column], near: int, hints: tuple[int, ...]
    ) -> Fit | None:
        """Try each family in turn, the plainest first."""
        first = pool[: max(near, len(self.letters))]
        for simple in (self.linear, self.summed, self.limited, self.multiplied):
            fit = simple(column, first)
            if fit is not None:
                return fit
        return (
            self.windowed(column, first, hints)
            or self.linear(column, pool)
            or self.of_letters(column)
            or self.triangular(column, pool)
            or self.multiplied(column, pool, hints=hints)
            or self.remaining(column, first, hints)
            or self.summed(column, pool, hints=hints)
            or self.windowed(column, pool, hints)
            or self.of_two_windows(column, first, hints)
        )

    # -- families ------------------------------------------------------------------

    def linear(self, column: Column, pool: Sequence[Column]) -> Fit | None:
        """Fit `a*u + b` to a known column."""
        for known in pool:
            slope = _fit_line(known, column)
            if slope is not None:
                return self.made(known, lambda of, s=slope: shift_sum(of * s[0], s[1]))
        return None

    def windowed(
        self, column: Column, pool: Sequence[Column], hints: tuple[int, ...]
    ) -> Fit | None:
        """Fit `g*((p*u + q)//r) + b` to a known column."""
        for known in pool:
            base = self.known[known]
            if base is None:
                continue
            windows = list(_iter_windows(known, column, hints))
            if windows:
                self.guessed += not windows[0].likely
                return self.of_windows(base, windows)
        return None

    def of_windows(self, base: Fit, windows: list[_Window]) -> Fit:
        """Return the first window as the fit, the others as its rivals."""
        formulas = [window.of(base.formula) for window in windows]
        others = [
            rival_formula
            for rival in base.rivals
            for rival_formula in (windows[0].of(rival),)
        ]
        return Fit(formulas[0], (*formulas[1:], *others))

    def limited(self, column: Column, pool: Sequence[Column]) -> Fit | None:
        """Fit `min(u, c)` and `max(u, c)`, both sides seen, and `min(u, v)` of two
        columns.
        """
        high, low = max(column), min(column)
        for known in pool:
            below = sum(u < high for u in known) >= 2
            above = sum(u > low for u in known) >= 2
            if below and column == tuple(min(u, high) for u in known):
                return self.made(known, lambda of: clamp_formula(of, None, high))
            if above and column == tuple(max(u, low) for u in known):
                return self.made(known, lambda of: clamp_formula(of, low, None))
        for left, right in _iter_pairs(pool):
            joined = list(zip(left, right, strict=True))
            for choose, expression in ((min, least), (max, most)):
                if column == tuple(choose(pair) for pair in joined):
                    a, b = self.known[left], self.known[right]
                    if a and b:
                        return Fit(expression([a.formula, b.formula]))
        return None

    def triangular(self, column: Column, pool: Sequence[Column]) -> Fit | None:
        """Fit `u*(u + k)//2` for a small k, times a number."""
        for known in pool:
            for k in (1, -1, 0, 2, -2, 3):
                full = [u * (u + k) for u in known]
                if not all(full):
                    continue
                for scale in (1, 2, 3, 4):
                    if all(
                        scale * f == 2 * v for f, v in zip(full, column, strict=True)
                    ):
                        return self.made(
                            known, lambda of, k=k, s=scale: _build_half(of, k, s)
                        )
        return None

    def multiplied(
        self,
        column: Column,
        pool: Sequence[Column],
        depth: int = 1,
        hints: tuple[int, ...] = (),
    ) -> Fit | None:
        """Fit `u * rest`, where the rest is again known, linear or a product."""
        for known in self.dividing(column, pool):
            base = self.known[known]
            rest = tuple(v // u for u, v in zip(known, column, strict=True))
            if base is None:
                continue
            left = self.whole(rest, pool, depth, hints)
            if left is not None:
                rivals = [product([base.formula, rival]) for rival in left.rivals]
                rivals += [product([rival, left.formula]) for rival in base.rivals]
                return Fit(product([base.formula, left.formula]), tuple(rivals))
        return None

    def dividing(self, column: Column, pool: Sequence[Column]) -> Iterator[Column]:
        """Yield known columns that divide this one in every run, larger ones first."""
        dividing = [
            known
            for known in pool
            if all(known) and not any(v % u for u, v in zip(known, column, strict=True))
        ]
        yield from sorted(dividing, key=sum, reverse=True)
        for name, of in self.letters.items():  # a letter and a little, as `2*T - 1`
            for slope, step in LITTLE:
                if not all(slope * n + step > 0 for n in of) or len(set(of)) < 3:
                    continue
                beside = tuple(slope * n + step for n in of)
                if any(v % u for u, v in zip(beside, column, strict=True)):
                    continue
                if beside not in self.known:
                    self.known[beside] = Fit(shift_sum(Letter(name) * slope, step))
                if beside not in pool:
                    yield beside

    def whole(
        self, rest: Column, pool: Sequence[Column], depth: int, hints: tuple[int, ...]
    ) -> Fit | None:
        """Fit the remaining factor of a product."""
        if len(set(rest)) == 1:
            return Fit(number(rest[0]))
        if self.known.get(rest):
            return self.known[rest]
        fit = self.linear(rest, pool)
        if fit is None and depth < DEEPEST:
            fit = self.multiplied(rest, pool, depth + 1)
        if fit is None and hints:
            fit = self.windowed(rest, pool, hints)
        return fit

    def summed(
        self, column: Column, pool: Sequence[Column], hints: tuple[int, ...] = ()
    ) -> Fit | None:
        """Fit `u + v` to two known columns, or a known and a plain column."""
        for known in pool:
            base = self.known[known]
            rest = tuple(v - u for u, v in zip(known, column, strict=True))
            if base is None or min(rest) < 0:
                continue
            left = self.known.get(rest) or self.linear(rest, pool)
            if left is None and hints:
                left = self.remaining(rest, pool, hints)
            if left is not None:
                return Fit(total([(base.formula, 1), (left.formula, 1)]))
        return None

    def of_two_windows(
        self, column: Column, pool: Sequence[Column], hints: tuple[int, ...]
    ) -> Fit | None:
        """Fit `((u + q)//r) * ((v + s)//t)`: the number of windows of an image."""
        strides = [1, *(hint for hint in hints if hint <= 64)]
        for known in pool:
            base = self.known[known]
            for stride in strides if base else ():
                for step in range(-64, 65):
                    beside = tuple((u + step) // stride for u in known)
                    if min(beside) < 1 or len(set(beside)) < 3:
                        continue
                    if any(v % u for u, v in zip(beside, column, strict=True)):
                        continue
                    rest = tuple(v // u for u, v in zip(beside, column, strict=True))
                    others = [
                        other_column for other_column in pool if other_column != known
                    ]
                    left = self.linear(rest, others) or self.windowed(
                        rest, others, tuple(strides)
                    )
                    if left is not None and base is not None:
                        mine = _Window(1, step, stride).of(base.formula)
                        rivals = [product([mine, rival]) for rival in left.rivals]
                        return Fit(product([mine, left.formula]), tuple(rivals))
        return None

    def remaining(
        self, column: Column, pool: Sequence[Column], hints: tuple[int, ...]
    ) -> Fit | None:
        """Fit `(p*u + q) % r`: what a padding to a multiple adds."""
        high = max(column)
        likely = [*hints, *(r for r in range(2, 65) if r not in hints)]
        for known in pool:
            for divisor in likely:
                if divisor <= high:
                    continue
                for sign in (-1, 1):
                    steps = {
                        (v - sign * u) % divisor
                        for u, v in zip(known, column, strict=True)
                    }
                    if len(steps) == 1 and len(set(column)) > 2:
                        (step,) = steps
                        return self.made(
                            known,
                            lambda of, s=sign, q=step, r=divisor: (of * s + q) % r,
                        )
        return None

    def of_letters(self, column: Column) -> Fit | None:
        """Fit `a*S + b*T + c` to two letters."""
        names = list(self.letters)
        for at, first_name in enumerate(names):
            for second_name in names[at + 1 :]:
                plane = _fit_plane(
                    self.letters[first_name], self.letters[second_name], column
                )
                if plane is not None:
                    a, b, c = plane
                    return Fit(
                        total(
                            [(Letter(first_name), a), (Letter(second_name), b), (c, 1)]
                        )
                    )
        return None

    def made(self, known: Column, make: object) -> Fit | None:
        """Return a formula over that of a known column, and its rivals likewise."""
        base = self.known[known]
        if base is None or not callable(make):
            return None
        return Fit(make(base.formula), tuple(make(rival) for rival in base.rivals))


LITTLE = ((1, -1), (1, 1), (2, -1), (2, 1), (1, -2), (1, 2))
"""Factors and steps of products that no tensor has as a size of its own."""


def _build_half(of: Expression, k: int, scale: int) -> Expression:
    """Return the formula `scale * u*(u + k) // 2`."""
    whole = product([of, shift_sum(of, k)])
    return whole * (scale // 2) if scale % 2 == 0 else (whole * scale) // 2


def _fit_line(known: Column, column: Column) -> tuple[int, int] | None:
    """Return integers `a, b` with `a*u + b == v` in every run; three points are
    needed.
    """
    first = known[0]
    other = next((at for at, u in enumerate(known) if u != first), None)
    if other is None or len(set(known)) < 3:
        return None
    run, rise = known[other] - first, column[other] - column[0]
    if rise % run:
        return None
    slope = rise // run
    step = column[0] - slope * first
    if slope and all(slope * u + step == v for u, v in zip(known, column, strict=True)):
        return slope, step
    return None


def _fit_plane(
    left: Column, right: Column, column: Column
) -> tuple[int, int, int] | None:
    """Return integers `a, b, c` with `a*u + b*v + c` in every run; five points are
    needed.
    """
    if len(set(zip(left, right, strict=True))) < 5:
        return None
    points = list(zip(left, right, column, strict=True))
    u0, v0, w0 = points[0]
    for i, (u1, v1, w1) in enumerate(points[1:], 1):
        for u2, v2, w2 in points[i + 1 :]:
            whole = (u1 - u0) * (v2 - v0) - (u2 - u0) * (v1 - v0)
            if not whole:
                continue
            a = (w1 - w0) * (v2 - v0) - (w2 - w0) * (v1 - v0)
            b = (u1 - u0) * (w2 - w0) - (u2 - u0) * (w1 - w0)
            if a % whole or b % whole:
                return None
            a, b = a // whole, b // whole
            c = w0 - a * u0 - b * v0
            fits = all(a * u + b * v + c == w for u, v, w in points)
            return (a, b, c) if fits else None
    return None


def _iter_pairs(pool: Sequence[Column]) -> Iterator[tuple[Column, Column]]:
    """Yield all pairs of the first columns."""
    first = pool[:6]
    for at, left in enumerate(first):
        for right in first[at + 1 :]:
            yield left, right
