"""Whether two formulas are equal at all sizes: decided, not sampled.

A formula of letters, numbers, `+ - *`, `//` and `%` by numbers is a polynomial in each
letter on every residue of some period: `(H + 1)//2` is on even and on odd H. Two
polynomials of degree d that agree at d + 1 sizes agree everywhere; so two such formulas
that agree at (d + 1) * period sizes of each letter, one after the other, are equal at
all sizes. What is no such formula, `min(T, 40)`, is compared size by size as far as the
sizes are counted.

>>> from shapewright.dims.reading import read
>>> sizes = {"H": Ladder(1)}
>>> equal(read("(H//2 - 1)//2"), read("(H - 2)//4"), sizes)
Decision(holds=True, at=None)
>>> equal(read("(H + 1)//2"), read("H//2"), sizes)
Decision(holds=False, at={'H': 1})
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import gcd, lcm, prod

from shapewright.dims.bounds import settled
from shapewright.dims.expression import (
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
)
from shapewright.dims.ladder import Ladder, Ladders, counted, points
from shapewright.dims.several import Product

WORK = 250_000
"""Points at which two formulas are compared at most."""

PROBES, FAR = 500, 1_000
"""Points tried where they would be too many, and how far up those lie."""



@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something holds at all sizes, or where it does not; None: not decided."""

    holds: bool | None
    at: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A formula is a polynomial on every residue of its letters.

    Each letter has a degree and a period; the polynomials have whole coefficients once
    they are multiplied by `denominator`.
    """

    letters: Mapping[str, tuple[int, int]]
    denominator: int = 1

    def divided(self, divisor: int) -> Pattern:
        """That of the formula rounded down to a multiple, divided."""
        modulus = self.denominator * divisor
        letters = {n: (d, lcm(p, modulus)) for n, (d, p) in self.letters.items()}
        return Pattern(letters, modulus)

    def rest(self, divisor: int) -> Pattern:
        """That of what a division leaves."""
        modulus = self.denominator * divisor
        return Pattern({n: (0, lcm(p, modulus)) for n, (_, p) in self.letters.items()})


def pattern(formula: Expression, fixed: frozenset[str]) -> Pattern | frozenset[str]:
    """The pattern of a formula; or, where it has none, letters to hold fixed first."""
    if formula.letters() <= fixed:
        return Pattern({})
    match formula:
        case Letter(name):
            return Pattern({name: (1, 1)})
        case Total(terms):
            return _joined([pattern(term, fixed) for term, _ in terms], added=True)
        case Product(factors):
            return _joined([pattern(each, fixed) for each in factors], added=False)
        case Quotient(over, divisor) if divisor > 0:
            inner = pattern(over, fixed)
            return inner.divided(divisor) if isinstance(inner, Pattern) else inner
        case Remainder(over, divisor) if divisor > 0:
            inner = pattern(over, fixed)
            return inner.rest(divisor) if isinstance(inner, Pattern) else inner
    return formula.letters()


def _joined(
    parts: list[Pattern | frozenset[str]], *, added: bool
) -> Pattern | frozenset[str]:
    unruly = frozenset[str]().union(*(p for p in parts if not isinstance(p, Pattern)))
    if unruly:
        return unruly
    known = [part for part in parts if isinstance(part, Pattern)]
    letters: dict[str, tuple[int, int]] = {}
    for part in known:
        for name, (degree, period) in part.letters.items():
            before, other = letters.get(name, (0, 1))
            both = max(before, degree) if added else before + degree
            letters[name] = both, lcm(other, period)
    under = [part.denominator for part in known]
    return Pattern(letters, lcm(*under) if added else prod(under))


def equal(one: Expression, two: Expression, ladders: Ladders) -> Decision:
    """Whether two formulas are equal at all sizes of their letters.

    False comes with sizes at which they differ; None where that would be more work
    than `WORK` points, or endless.
    """
    difference = settled(one, ladders) - settled(two, ladders)
    letters = difference.letters()
    if not letters:
        differ = difference.value({}) != 0
        low = {name: ladders[name].low for name in one.letters() | two.letters()}
        return Decision(not differ, low if differ else None)
    whole = counted(ladders, letters)
    few = enough(difference, ladders)
    if few is None or (whole is not None and whole <= prod(map(len, few.values()))):
        if whole is None or whole > WORK:
            return _probed(difference, ladders)
        return _compared(difference, points(ladders, letters), ladders)
    if prod(map(len, few.values())) > WORK:
        return _probed(difference, ladders)
    found = _compared(difference, _grid(few), ladders)
    if found.holds is None and whole is not None and whole <= WORK:
        return _compared(difference, points(ladders, letters), ladders)
    return found


def enough(difference: Expression, ladders: Ladders) -> dict[str, range] | None:
    """Sizes of each letter that decide whether a formula is 0 everywhere."""
    fixed = frozenset[str]()
    while not isinstance(found := pattern(difference, fixed), Pattern):
        if any(ladders[name].high is None for name in found) or found <= fixed:
            return None
        fixed |= found
    ranges = {}
    for name in difference.letters():
        ladder = ladders[name]
        if name in fixed:
            ranges[name] = ladder.first(ladder.count or 0)
            continue
        degree, period = found.letters.get(name, (0, 1))
        steps = period // gcd(period, ladder.step)
        ranges[name] = ladder.first((degree + 1) * steps)
    return ranges


def _grid(ranges: Mapping[str, range]) -> Iterator[dict[str, int]]:
    for sizes in product(*ranges.values()):
        yield dict(zip(ranges, sizes, strict=True))


def _probed(difference: Expression, ladders: Ladders) -> Decision:
    """Some points, where there are too many: one difference is enough."""
    draw = random.Random(0)
    for _ in range(PROBES):
        sizes = {}
        for name in sorted(difference.letters()):
            ladder = ladders[name]
            sizes[name] = draw.choice(ladder.first(min(ladder.count or FAR, FAR)))
        if difference.value(sizes):
            return Decision(False, sizes)
    return Decision(None)


def _compared(
    difference: Expression, tried: Iterator[dict[str, int]], ladders: Ladders
) -> Decision:
    """What the points say: a difference above the greatest size decides nothing."""
    beyond = False
    for sizes in tried:
        if difference.value(sizes):
            if all(ladders[name].holds(size) for name, size in sizes.items()):
                return Decision(False, sizes)
            beyond = True
    return Decision(None if beyond else True)
