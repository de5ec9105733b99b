"""Sizes as a spec writes them: numbers, letters, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import add, floordiv, mod, mul, sub

_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": add, "-": sub, "*": mul, "//": floordiv, "%": mod,
}  # fmt: skip

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
"""How strongly an operator of size arithmetic binds."""


@dataclass(frozen=True, slots=True)
class Number:
    """A size given as a number."""

    value: int
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Letter:
    """A size given by name."""

    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two sizes and an operator; `position` is the operator's."""

    operator: str
    left: Size
    right: Size
    position: int = field(default=0, compare=False)


Size = Number | Letter | Arithmetic


class DividedByZero(Exception):
    """`//` or `%` by zero, at a position of the spec."""

    def __init__(self, position: int) -> None:
        super().__init__("division by zero")
        self.position = position


def value(size: Size, letters: Mapping[str, int]) -> int:
    """What the size comes to: ``2*B`` with ``B=8`` is 16."""
    match size:
        case Number(number):
            return number
        case Letter(name):
            return letters[name]
        case Arithmetic(operator, left, right, position):
            divisor = value(right, letters)
            if divisor == 0 and operator in ("//", "%"):
                raise DividedByZero(position)
            return _OPERATORS[operator](value(left, letters), divisor)


def letters_in(size: Size) -> Iterator[Letter]:
    """The letters of a size, from left to right."""
    if isinstance(size, Letter):
        yield size
    elif isinstance(size, Arithmetic):
        yield from letters_in(size.left)
        yield from letters_in(size.right)


def text(size: Size, stated: dict[str, int] | None = None) -> str:
    """The size as a spec writes it.

    Letters in `stated` are written with their size where they first stand (`B=8`),
    and taken out of `stated`.
    """
    stated = {} if stated is None else stated
    if isinstance(size, Letter):
        return _letter(size, stated)
    return _text(size, stated, 0)


def _text(size: Size, stated: dict[str, int], around: int) -> str:
    match size:
        case Number(number):
            return str(number)
        case Letter():
            written = _letter(size, stated)
            return f"({written})" if "=" in written else written
        case Arithmetic(operator, left, right):
            strength = PRECEDENCE[operator]
            first = _text(left, stated, strength)
            whole = f"{first}{operator}{_text(right, stated, strength + 1)}"
            return f"({whole})" if strength < around else whole


def _letter(letter: Letter, stated: dict[str, int]) -> str:
    if letter.name not in stated:
        return letter.name
    return f"{letter.name}={stated.pop(letter.name)}"
