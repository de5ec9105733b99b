"""Expressions that join several: products, the least and the most of some.

>>> h, w = Letter("H"), Letter("W")
>>> str(product([h + 1, w]) * 16)
'16*W*(H + 1)'
>>> least([h, w]).value({"H": 3, "W": 5})
3
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from shapewright.dims.expression import (
    Expression,
    Letter,
    Total,
    Values,
    inner,
    number,
    total,
)


@dataclass(frozen=True, slots=True)
class Product(Expression):
    """Expressions multiplied: `H*W`."""

    factors: tuple[Expression, ...]

    def value(self, letters: Values) -> int:
        return prod(factor.value(letters) for factor in self.factors)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.letters() for each in self.factors))

    def __str__(self) -> str:
        powers: dict[str, int] = {}
        for factor in self.factors:
            text = inner(factor)
            powers[text] = powers.get(text, 0) + 1
        return "*".join(
            text if power == 1 else f"{text}**{power}" for text, power in powers.items()
        )


@dataclass(frozen=True, slots=True)
class Least(Expression):
    """`min(a, b)`."""

    parts: tuple[Expression, ...]

    def value(self, letters: Values) -> int:
        return min(part.value(letters) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.letters() for each in self.parts))

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Most(Expression):
    """`max(a, b)`."""

    parts: tuple[Expression, ...]

    def value(self, letters: Values) -> int:
        return max(part.value(letters) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.letters() for each in self.parts))

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


def product(parts: Iterable[Expression]) -> Expression:
    """The product in normal form: numbers in front, letters before longer parts."""
    constant, factors = 1, list[Expression]()
    for part in parts:
        scale, rest = scaled(part)
        constant *= scale
        factors += rest
    if constant == 0 or not factors:
        return number(constant)
    factors.sort(key=lambda each: (not isinstance(each, Letter), str(each)))
    whole = factors[0] if len(factors) == 1 else Product(tuple(factors))
    return total([(whole, constant)])


def scaled(part: Expression) -> tuple[int, list[Expression]]:
    """An expression as a number times factors."""
    if isinstance(part, Product):
        return 1, list(part.factors)
    if isinstance(part, Total):
        if not part.terms:
            return part.constant, []
        if len(part.terms) == 1 and not part.constant:
            ((term, factor),) = part.terms
            scale, factors = scaled(term)
            return factor * scale, factors
    return 1, [part]


def least(parts: Iterable[Expression]) -> Expression:
    """The least of some expressions."""
    return Least(tuple(parts))


def most(parts: Iterable[Expression]) -> Expression:
    """The most of some expressions."""
    return Most(tuple(parts))
