"""The place of an element in row-major order, and the index at a place, kept short.

    >>> i, j, k = out_letters(3)
    >>> place((i, j, k), (2, 3, 4))          # of an element of a (2, 3, 4) tensor
    12*i + 4*j + k
    >>> index_at(place((i, j, k), (2, 3, 4)), (6, 4), {"i": 2, "j": 3, "k": 4})
    (3*i + j, k)

Division is dropped wherever the sizes of the letters show that it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from shapewright.dims.expression import (
    Expression,
    Letter,
    Quotient,
    Remainder,
    Total,
    number,
    total,
)
from shapewright.rules.maps.index_map import LETTERS
from shapewright.rules.strides import contiguous

Sizes = Mapping[str, int]
"""How many numbers each letter goes through, from 0."""
Terms = list[tuple[Expression, int]]


def sizes_of(shape: Sequence[int]) -> dict[str, int]:
    """The sizes of an output's letters."""
    return dict(zip(LETTERS, shape, strict=False))


def bounds(expression: Expression, sizes: Sizes) -> tuple[int, int] | None:
    """The least and the largest value, or a range around them; None if unknown."""
    if isinstance(expression, Letter):
        if expression.name not in sizes:
            return None
        return 0, max(sizes[expression.name] - 1, 0)
    if isinstance(expression, Remainder):
        return 0, expression.divisor - 1
    if isinstance(expression, Quotient):
        inside = bounds(expression.over, sizes)
        n = expression.divisor
        return None if inside is None else (inside[0] // n, inside[1] // n)
    if not isinstance(expression, Total):
        return None
    low = high = expression.constant
    for term, factor in expression.terms:
        inside = bounds(term, sizes)
        if inside is None:
            return None
        ends = sorted(end * factor for end in inside)
        low, high = low + ends[0], high + ends[1]
    return low, high


def parted(expression: Expression, step: int) -> tuple[Terms, Expression]:
    """The terms whose factor is a multiple of `step`, and the rest.

    The number in a sum is parted too: 13 is 12 and 1 where `step` is 4.
    """
    terms = expression.terms if isinstance(expression, Total) else ((expression, 1),)
    constant = expression.constant if isinstance(expression, Total) else 0
    whole = [(term, factor) for term, factor in terms if not factor % step]
    if constant // step:
        whole.append((number(1), constant // step * step))
    rest: Terms = [(term, factor) for term, factor in terms if factor % step]
    return whole, total([*rest, (constant % step, 1)])


def steps_of(expression: Expression, divisor: int) -> list[int]:
    """What the divisor has in common with the factors, the largest first."""
    terms = expression.terms if isinstance(expression, Total) else ((expression, 1),)
    return sorted({gcd(factor, divisor) for _, factor in terms}, reverse=True)


def over(expression: Expression, divisor: int, sizes: Sizes) -> Expression:
    """`expression // divisor`."""
    known = bounds(expression, sizes)
    if known is not None and known[0] // divisor == known[1] // divisor:
        return number(known[0] // divisor)
    if divisor == 1:
        return expression
    for step in steps_of(expression, divisor):
        whole, rest = parted(expression, step)
        inside = bounds(rest, sizes)
        if step > 1 and inside is not None and 0 <= inside[0] <= inside[1] < step:
            less = total([(term, factor // step) for term, factor in whole])
            return over(less, divisor // step, sizes)
    whole, rest = parted(expression, divisor)
    if whole:
        less = total([(term, factor // divisor) for term, factor in whole])
        return less + over(rest, divisor, sizes)
    return expression // divisor


def modulo(expression: Expression, divisor: int, sizes: Sizes) -> Expression:
    """`expression % divisor`."""
    whole, rest = parted(expression, divisor)
    if whole:
        return modulo(rest, divisor, sizes)
    known = bounds(expression, sizes)
    if known is not None and known[0] // divisor == known[1] // divisor:
        return expression - known[0] // divisor * divisor
    for step in steps_of(expression, divisor):
        whole, rest = parted(expression, step)
        inside = bounds(rest, sizes)
        if step > 1 and inside is not None and 0 <= inside[0] <= inside[1] < step:
            less = total([(term, factor // step) for term, factor in whole])
            return modulo(less, divisor // step, sizes) * step + rest
    return expression % divisor


def place(letters: Sequence[Expression], shape: Sequence[int]) -> Expression:
    """The place in row-major order of the element at `letters`."""
    steps = contiguous(tuple(shape))
    pairs = zip(letters, shape, steps, strict=True)
    return total([(letter, step) for letter, size, step in pairs if size != 1])


def index_at(
    expression: Expression, shape: Sequence[int], sizes: Sizes
) -> tuple[Expression, ...]:
    """The index of the element at a place of a tensor of this shape."""
    found: list[Expression] = []
    for size, step in zip(shape, contiguous(tuple(shape)), strict=True):
        here = over(expression, step, sizes)
        found.append(modulo(here, max(size, 1), sizes))
    return tuple(found)
