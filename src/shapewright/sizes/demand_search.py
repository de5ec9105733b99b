"""Search for a demand that separates accepted sizes from refused sizes.

Every family proposes demands; those that agree with all that was seen are kept, the
plainest first, and more runs tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from itertools import product as every
from math import gcd

from shapewright.sizes.demands import (
    AtLeast,
    Between,
    Both,
    Demand,
    Divides,
    EqualSizes,
    Fits,
    Multiple,
    NoMore,
    SizeAtMost,
    Sizes,
    Square,
)
from shapewright.sizes.expressions import Expression, Letter, Total, product, total

LARGEST = 128
"""Largest divisor that is tried."""

WIDEST = 6
"""Largest number of demands of a letter that are joined with another's."""

OF_A_FAMILY = 4
"""Largest number of demands of a family that are compared with others."""

MANY = 4000
"""Largest number of demands of a family that are tried."""

Pair = tuple[Expression, Expression]


@dataclass(frozen=True, slots=True)
class SizeEvidence:
    """Sizes that passed a place, and sizes that were refused there.

    `sizes` are expressions that are likely to matter, besides the letters: those of
    the tensors that the refused call got. `pairs` are two of them that stand one over
    the other, `stated` two that the call itself says do not fit.
    """

    letters: tuple[str, ...]
    passed: Sequence[Sizes]
    refused: Sequence[Sizes]
    sizes: Sequence[Expression] = ()
    pairs: Sequence[Pair] = ()
    stated: Sequence[Pair] = ()

    def agrees(self, demand: Demand) -> bool:
        """Return whether a demand holds at all passed sizes and at no refused ones."""
        return all(map(demand.holds, self.passed)) and not any(
            map(demand.holds, self.refused)
        )

    def allows(self, demand: Demand) -> bool:
        """Return whether a demand holds at all passed sizes."""
        return all(map(demand.holds, self.passed))

    def atoms(self, letter: str) -> list[Expression]:
        """Return the letter, and the sizes that depend only on it."""
        own = [size for size in self.sizes if size.letters() == {letter}]
        return list(dict.fromkeys([Letter(letter), *own]))


def find_demands(evidence: SizeEvidence, most: int) -> list[Demand]:
    """Return demands that agree with the evidence, the likeliest first."""
    demands: list[Demand] = []
    for family in FAMILIES:
        own = 0
        for demand in islice(family(evidence), MANY):
            if demand not in demands and evidence.agrees(demand):
                demands.append(demand)
                own += 1
                if len(demands) == most:
                    return demands
                if own == OF_A_FAMILY:
                    break
    return demands


def find_plain_demand(evidence: SizeEvidence) -> Demand | None:
    """Return a plain demand on letters that fully explains the evidence, or None."""
    for family in (_iter_single_demands, _iter_letter_demands, _iter_pair_demands):
        for demand in islice(family(evidence), MANY):
            if evidence.agrees(demand):
                return demand
    return None


def _iter_single_demands(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield bounds and multiples of one letter."""
    for letter in evidence.letters:
        yield from _iter_size_demands(Letter(letter), evidence.passed, evidence.refused)


def _iter_letter_demands(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield a demand per letter, from refusals in which only that letter changed."""
    for plain in (True, False):
        singles: list[list[Demand]] = []
        for letter in evidence.letters:
            refused = _find_alone(evidence, letter)
            own: list[Demand] = []
            for atom in evidence.atoms(letter)[: 1 if plain else None]:
                own += _iter_size_demands(atom, evidence.passed, refused)
            own = [
                demand
                for demand in dict.fromkeys(own)
                if evidence.allows(demand) and not any(map(demand.holds, refused))
            ]
            if not own and refused and not plain:
                own = _iter_doubles(evidence, letter, refused)
            if own:
                singles.append(own[:WIDEST])
        if singles:
            yield from _join_singles(singles)


def _join_singles(singles: list[list[Demand]]) -> Iterator[Demand]:
    """Yield conjunctions of one demand for each letter, the likeliest first."""
    if len(singles) == 1:
        yield from singles[0]
        return
    places = every(*[range(len(own)) for own in singles])
    for chosen in sorted(places, key=sum):
        yield Both(tuple(own[at] for own, at in zip(singles, chosen, strict=True)))


def _iter_doubles(
    evidence: SizeEvidence, letter: str, refused: Sequence[Sizes]
) -> list[Demand]:
    """Yield two demands on one letter at once: a multiple and a bound."""
    parts: list[Demand] = []
    for atom in evidence.atoms(letter):
        passed = {atom.value(sizes) for sizes in evidence.passed}
        if not passed:
            continue
        parts += [AtLeast(atom, min(passed)), SizeAtMost(atom, max(passed))]
        for divisor in range(2, LARGEST + 1):
            rests = {size % divisor for size in passed}
            if len(rests) == 1:
                parts.append(_build_multiple(atom, divisor, rests.pop()))
    return [
        Both(pair)
        for pair in combinations(parts, 2)
        if not any(map(Both(pair).holds, refused))
    ]


def _find_alone(evidence: SizeEvidence, letter: str) -> list[Sizes]:
    """Return refusals that differ from passed sizes in this letter only."""

    def rest(sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes[name] for name in evidence.letters if name != letter)

    passed = {rest(sizes) for sizes in evidence.passed}
    return [sizes for sizes in evidence.refused if rest(sizes) in passed]


def _iter_size_demands(
    size: Expression, passed: Sequence[Sizes], refused: Sequence[Sizes]
) -> Iterator[Demand]:
    """Yield bounds and multiples of one size."""
    good = sorted({size.value(sizes) for sizes in passed})
    bad = sorted({size.value(sizes) for sizes in refused})
    if not good or not bad:
        return
    yield from _iter_bounds(size, good, bad)
    multiples = 0
    for divisor in range(2, LARGEST + 1):
        rests = {good_size % divisor for good_size in good}
        if len(rests) == 1:
            (rest,) = rests
            if not any(bad_size % divisor == rest for bad_size in bad):
                yield _build_multiple(size, divisor, rest)
                multiples += 1
                if multiples == WIDEST:
                    return


def _build_multiple(size: Expression, divisor: int, rest: int) -> Demand:
    """Return `size % divisor == rest` without a factor that both share."""
    if rest == 0 and isinstance(size, Total) and not size.constant:
        scale = gcd(divisor, *(factor for _, factor in size.terms))
        if 1 < scale < divisor:
            terms = [(term, factor // scale) for term, factor in size.terms]
            return Multiple(total([*terms]), divisor // scale)
    return Multiple(size, divisor, rest)


def _build_equal(left_size: Expression, right_size: Expression) -> Demand:
    """Return `left_size == right_size` without a factor that both sides share."""
    sides = [
        side if isinstance(side, Total) else None for side in (left_size, right_size)
    ]
    left, right = sides
    if left is not None and right is not None and not left.constant and left.terms:
        factors = [factor for side in sides if side for _, factor in side.terms]
        scale = gcd(right.constant, *factors)
        if scale > 1:
            return EqualSizes(_shrink_size(left, scale), _shrink_size(right, scale))
    return EqualSizes(left_size, right_size)


def _shrink_size(size: Total, scale: int) -> Expression:
    """Return a size without a factor that divides it."""
    terms = [(term, factor // scale) for term, factor in size.terms]
    return total([*terms, (size.constant // scale, 1)])


def _iter_bounds(size: Expression, good: list[int], bad: list[int]) -> Iterator[Demand]:
    """Yield `>=`, `<=` and both, with the bounds that the evidence leaves open."""
    below = [size_below for size_below in bad if size_below < good[0]]
    above = [size_above for size_above in bad if size_above > good[-1]]
    if len(below) + len(above) < len(bad):
        return
    lows = _iter_ends(below[-1] + 1, good[0]) if below else []
    highs = _iter_ends(above[0] - 1, good[-1]) if above else []
    if below and above:
        yield from (Between(size, low, highs[0]) for low in lows)
        yield from (Between(size, lows[0], high) for high in highs)
    elif below:
        yield from (AtLeast(size, low) for low in lows)
    else:
        yield from (SizeAtMost(size, high) for high in highs)


def _iter_ends(open_end: int, seen: int) -> list[int]:
    """Return bounds between what was refused and what passed: the ends, and the
    middle.
    """
    return list(dict.fromkeys([seen, open_end, (open_end + seen) // 2]))


def _iter_named_demands(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield demands that the sizes named by the refused call fit."""
    for left, right in evidence.stated:
        if len(left.letters() | right.letters()) > 1:
            yield _build_equal(left, right)
            yield Fits(left, right)


def _iter_pair_demands(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield demands on two letters: equality, order, integer ratios, differences."""
    letters = [Letter(name) for name in evidence.letters]
    for left, right in combinations(letters, 2):
        yield EqualSizes(left, right)
        yield NoMore(left, right)
        yield NoMore(right, left)
        yield Fits(left, right)
        for scale in (2, 3, 4):
            yield EqualSizes(left * scale, right)
            yield EqualSizes(left, right * scale)
        for step in (1, 2, -1, -2):
            yield EqualSizes(left + step, right)
            yield NoMore(left + step, right)
        yield Divides(left, right)
        yield Divides(right, left)


def _iter_aligned(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield demands that corresponding sizes of the call fit, one pair or all."""
    pairs = [pair for pair in evidence.pairs if pair[0].letters() | pair[1].letters()]
    for kind in (EqualSizes, Fits, NoMore):
        for left, right in pairs:
            yield kind(left, right)
            if kind is NoMore:
                yield kind(right, left)
    for kind in (EqualSizes, Fits):
        some: list[Demand] = [kind(left, right) for left, right in pairs]
        some = [demand for demand in some if evidence.allows(demand)]
        if len(some) > 1:
            yield Both(tuple(some))
        yield from (Both(two) for two in combinations(some, 2) if len(some) > 2)


def _iter_call_demands(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield conditions on the sizes that the refused call got."""
    for size in evidence.sizes:
        yield from _iter_size_demands(size, evidence.passed, evidence.refused)
    for left, right in combinations(evidence.sizes, 2):
        yield EqualSizes(left, right)
        yield Fits(left, right)
        yield NoMore(left, right)
        yield NoMore(right, left)
        yield Divides(left, right)
        yield Divides(right, left)


def _iter_joined_demands(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield demands on sums, differences and products of letters."""
    letters = [Letter(name) for name in evidence.letters]
    for left, right in combinations(letters, 2):
        for size in (left + right, left - right, product([left, right])):
            yield from _iter_size_demands(size, evidence.passed, evidence.refused)


def _iter_squares(evidence: SizeEvidence) -> Iterator[Demand]:
    """Yield demands for square numbers."""
    for size in [*map(Letter, evidence.letters), *evidence.sizes]:
        for step in (0, -1, 1):
            yield Square(size + step if step else size)


FAMILIES: tuple[Callable[[SizeEvidence], Iterator[Demand]], ...] = (
    _iter_single_demands, _iter_named_demands, _iter_letter_demands,
    _iter_pair_demands, _iter_aligned, _iter_squares,
    _iter_call_demands, _iter_joined_demands,
)  # fmt: skip
