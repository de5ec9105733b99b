"""Whole-number expressions in letters: built, simplified, evaluated, written, parsed,
and carried by sizes.

>>> h, w = Letter("H"), Letter("W")
>>> str(product([h + 1, w]) * 16)
'16*W*(H + 1)'
>>> least([h, w]).value({"H": 3, "W": 5})
3

    >>> h, k = Letter("h"), Letter("k")
    >>> str(h * 2 + k - 1)
    '2*h + k - 1'
    >>> (h * 2 + k - 1).value({"h": 3, "k": 0})
    5

Sums and products are kept in one normal form, so that equal expressions are equal
objects in meaning (`==`) and text. Division is Python's: `//` and `%` round down.

>>> str(read("16*((H - 12)//4)"))
'16*((H - 12)//4)'
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Union

Value = Union[int, "Expression"]
Values = Mapping[str, int]


class Expression:
    """An integer that depends on letters. Combine with `+ - * // %` and ints."""

    __slots__ = ()

    def value(self, letters: Values) -> int:
        """Return the number for these values of the letters."""
        raise NotImplementedError

    def letters(self) -> frozenset[str]:
        """Return the letters that it depends on."""
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
    """A sum of terms with integer factors, and a number: `2*h + k - 1`."""

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
            part = f"{size}*{add_brackets(term)}" if size != 1 else str(term)
            if not text and factor == -1:
                text = f"-{add_brackets(term)}"
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
        return f"{add_brackets(self.over)}//{self.divisor}"


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
        return f"{add_brackets(self.over)}%{self.divisor}"


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
        quotient = self.over.value(letters)
        if self.low is not None:
            quotient = max(quotient, self.low)
        return quotient if self.high is None else min(quotient, self.high)

    def letters(self) -> frozenset[str]:
        return self.over.letters()

    def __str__(self) -> str:
        text = str(self.over)
        if self.low is not None:
            text = f"max({text}, {self.low})"
        return text if self.high is None else f"min({text}, {self.high})"


def add_brackets(part: Expression) -> str:
    """Return a part of a longer expression as text, in parentheses if necessary."""
    single = isinstance(part, Total) and len(part.terms) + bool(part.constant) <= 1
    whole = isinstance(part, Letter) or (single and not str(part).startswith("-"))
    if whole or not isinstance(part, Total | Quotient | Remainder):
        return str(part)
    return f"({part})"


def number(value: int) -> Expression:
    """Return a number as an expression."""
    return Total((), value)


def total(parts: list[tuple[Value, int]]) -> Expression:
    """Return the sum of parts with factors, in normal form."""
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
    """Return an expression unchanged, or a number as an expression."""
    return number(value) if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class Product(Expression):
    """Expressions multiplied: `H*W`."""

    factors: tuple[Expression, ...]

    def value(self, letters: Values) -> int:
        return prod(factor.value(letters) for factor in self.factors)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(factor.letters() for factor in self.factors))

    def __str__(self) -> str:
        powers: dict[str, int] = {}
        for factor in self.factors:
            text = add_brackets(factor)
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
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return f"min({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Most(Expression):
    """`max(a, b)`."""

    parts: tuple[Expression, ...]

    def value(self, letters: Values) -> int:
        return max(part.value(letters) for part in self.parts)

    def letters(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.letters() for part in self.parts))

    def __str__(self) -> str:
        return f"max({', '.join(map(str, self.parts))})"


def product(parts: Iterable[Expression]) -> Expression:
    """Return the product in normal form: numbers first, letters before longer parts."""
    constant, factors = 1, list[Expression]()
    for part in parts:
        scale, rest = split_factor(part)
        constant *= scale
        factors += rest
    if constant == 0 or not factors:
        return number(constant)
    factors.sort(key=lambda factor: (not isinstance(factor, Letter), str(factor)))
    whole = factors[0] if len(factors) == 1 else Product(tuple(factors))
    return total([(whole, constant)])


def split_factor(part: Expression) -> tuple[int, list[Expression]]:
    """Return an expression as a number times factors."""
    if isinstance(part, Product):
        return 1, list(part.factors)
    if isinstance(part, Total):
        if not part.terms:
            return part.constant, []
        if len(part.terms) == 1 and not part.constant:
            ((term, factor),) = part.terms
            scale, factors = split_factor(term)
            return factor * scale, factors
    return 1, [part]


def least(parts: Iterable[Expression]) -> Expression:
    """Return the minimum of expressions."""
    return Least(tuple(parts))


def most(parts: Iterable[Expression]) -> Expression:
    """Return the maximum of expressions."""
    return Most(tuple(parts))


class Size(int):
    """An integer that prints as the formula it comes from.

    >>> from shapewright.sizes.expressions import Letter
    >>> size = Size(16, Letter("H") // 2)
    >>> print(size, size + 1, size == 16)
    H//2 17 True
    """

    formula: Expression

    def __new__(cls, value: int, formula: Expression) -> Size:
        size = super().__new__(cls, value)
        size.formula = formula
        return size

    def __repr__(self) -> str:
        return str(self.formula)

    __str__ = __repr__

    def __getnewargs__(self) -> tuple[Any, ...]:
        return int(self), self.formula


def attach_formula(value: int, formula: Expression | None) -> int:
    """Return the number with its formula, or the bare number if the formula is
    constant.

    A stride is another number where its dim has one element: `Size(5, number(20))`.
    """
    if formula is None or (not formula.letters() and formula.value({}) == value):
        return value
    return Size(value, formula)


def read(text: str) -> Expression:
    """Parse a formula. Raises `ValueError` if the text is not one."""
    if text == "?":  # a size that has no formula
        return Letter(text)
    try:
        return _read(ast.parse(text, mode="eval").body)
    except SyntaxError:
        raise ValueError(f"no formula: {text!r}") from None


def _read(node: ast.expr) -> Expression:
    match node:
        case ast.Constant(value=int(value)):
            return number(value)
        case ast.Name(id=name):
            return Letter(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _join_nodes(operator, _read(left), right)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _format_call(name, [_read(argument) for argument in args])
    raise ValueError(f"no formula: {ast.unparse(node)!r}")


def _join_nodes(operator: ast.operator, left: Expression, node: ast.expr) -> Expression:
    right = _read(node)
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return product([left, right])
        case ast.Pow() if isinstance(node, ast.Constant) and isinstance(
            node.value, int
        ):
            return product([left] * node.value)
        case ast.FloorDiv() if isinstance(node, ast.Constant):
            return Quotient(left, right.value({}))
        case ast.Mod() if isinstance(node, ast.Constant):
            return Remainder(left, right.value({}))
    raise ValueError("no formula")


def _format_call(name: str, parts: list[Expression]) -> Expression:
    if name == "abs" and len(parts) == 1:
        return Absolute(parts[0])
    if name not in ("min", "max") or len(parts) < 2:
        raise ValueError("no formula")
    first, second = parts[0], parts[1]
    if len(parts) == 2 and not second.letters():
        bound = second.value({})
        if name == "min":
            if isinstance(first, Clamped) and first.high is None:
                return Clamped(first.over, first.low, bound)
            return Clamped(first, None, bound)
        return Clamped(first, bound, None)
    return least(parts) if name == "min" else most(parts)
