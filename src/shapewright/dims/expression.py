"""Whole-number expressions in letters, as data: built, shortened, evaluated, written.

    >>> h, k = Letter("h"), Letter("k")
    >>> str(h * 2 + k - 1)
    '2*h + k - 1'
    >>> (h * 2 + k - 1).value({"h": 3, "k": 0})
    5

Sums and products are kept in one normal form, so that equal expressions are equal
objects in meaning (`==`) and text. Division is Python's: `//` and `%` round down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

Value = Union[int, "Expression"]
Values = Mapping[str, int]


class Expression:
    """A whole number that depends on letters. Combine with `+ - * // %` and ints."""

    __slots__ = ()

    def value(self, letters: Values) -> int:
        """The number for these values of the letters."""
        raise NotImplementedError

    def letters(self) -> frozenset[str]:
        """The letters that it depends on."""
        raise NotImplementedError

    def __add__(self, other: Value) -> Expression:
        return total([(self, 1), (other, 1)])

    def __sub__(self, other: Value) -> Expression:
        return total([(self, 1), (other, -1)])

    def __rsub__(self, other: Value) -> Expression:
        return total([(other, 1), (self, -1)])

    def __mul__(self, factor: int) -> Expression:
        return total([(self, factor)])

    def __neg__(self) -> Expression:
        return total([(self, -1)])

    def __floordiv__(self, divisor: int) -> Expression:
        if divisor == 1:
            return self
        return Quotient(self, divisor)

    def __mod__(self, divisor: int) -> Expression:
        return number(0) if divisor == 1 else Remainder(self, divisor)

    __radd__ = __add__
    __rmul__ = __mul__


@dataclass(frozen=True, slots=True)
class Letter(Expression):
    """A letter, which stands for an index or a size."""

    name: str

    def value(self, letters: Values) -> int:
        return letters[self.name]

    def letters(self) -> frozenset[str]:
        return frozenset({self.name})

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Total(Expression):
    """A sum of terms with whole factors, and a number: `2*h + k - 1`."""

    terms: tuple[tuple[Expression, int], ...]
    constant: int = 0

    def value(self, letters: Values) -> int:
        return self.constant + sum(
            term.value(letters) * factor for term, factor in self.terms
        )

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(term.letters() for term, _ in self.terms))

    def __str__(self) -> str:
        text = ""
        for term, factor in self.terms:
            size = abs(factor)
            part = f"{size}*{inner(term)}" if size != 1 else str(term)
            if not text and factor == -1:
                text = f"-{inner(term)}"
            elif not text:
                text = part if factor > 0 else f"-{part}"
            else:
                text += f" + {part}" if factor > 0 else f" - {part}"
        if not text:
            return str(self.constant)
        if self.constant:
            if text.startswith("-") and self.constant > 0:  # `3 - i`, not `-i + 3`
                return f"{self.constant} - {text[1:]}"
            text += f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}"
        return text


@dataclass(frozen=True, slots=True)
class Quotient(Expression):
    """`a // n`, rounded down."""

    over: Expression
    divisor: int

    def value(self, letters: Values) -> int:
        return self.over.value(letters) // self.divisor

    def letters(self) -> frozenset[str]:
        return self.over.letters()

    def __str__(self) -> str:
        return f"{inner(self.over)}//{self.divisor}"


@dataclass(frozen=True, slots=True)
class Remainder(Expression):
    """`a % n`, never negative."""

    over: Expression
    divisor: int

    def value(self, letters: Values) -> int:
        return self.over.value(letters) % self.divisor

    def letters(self) -> frozenset[str]:
        return self.over.letters()

    def __str__(self) -> str:
        return f"{inner(self.over)}%{self.divisor}"


@dataclass(frozen=True, slots=True)
class Absolute(Expression):
    """`abs(a)`."""

    over: Expression

    def value(self, letters: Values) -> int:
        return abs(self.over.value(letters))

    def letters(self) -> frozenset[str]:
        return self.over.letters()

    def __str__(self) -> str:
        return f"abs({self.over})"


@dataclass(frozen=True, slots=True)
class Clamped(Expression):
    """`a`, but at least `low` and at most `high`, where these are given."""

    over: Expression
    low: int | None = None
    high: int | None = None

    def value(self, letters: Values) -> int:
        found = self.over.value(letters)
        if self.low is not None:
            found = max(found, self.low)
        return found if self.high is None else min(found, self.high)

    def letters(self) -> frozenset[str]:
        return self.over.letters()

    def __str__(self) -> str:
        text = str(self.over)
        if self.low is not None:
            text = f"max({text}, {self.low})"
        return text if self.high is None else f"min({text}, {self.high})"


def inner(part: Expression) -> str:
    """A part of a longer expression, in brackets where it needs them."""
    single = isinstance(part, Total) and len(part.terms) + bool(part.constant) <= 1
    whole = isinstance(part, Letter) or (single and not str(part).startswith("-"))
    if whole or not isinstance(part, Total | Quotient | Remainder):
        return str(part)
    return f"({part})"


def number(value: int) -> Expression:
    """A number as an expression."""
    return Total((), value)


def total(parts: list[tuple[Value, int]]) -> Expression:
    """The sum of parts with factors, in normal form."""
    factors: dict[Expression, int] = {}
    constant = 0
    for part, factor in parts:
        if isinstance(part, int):
            constant += part * factor
        elif isinstance(part, Total):
            constant += part.constant * factor
            for term, own in part.terms:
                factors[term] = factors.get(term, 0) + own * factor
        else:
            factors[part] = factors.get(part, 0) + factor
    terms = tuple((term, factor) for term, factor in factors.items() if factor)
    if len(terms) == 1 and not constant and terms[0][1] == 1:
        return terms[0][0]
    return Total(terms, constant)


def as_expression(value: Value) -> Expression:
    """An expression, from one or from a number."""
    return number(value) if isinstance(value, int) else value
