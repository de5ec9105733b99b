"""Property: arithmetic on sizes that remember is Python's, and so is what they say."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shapewright.engine.tracked_sizes.comparisons import Comparisons
from shapewright.engine.tracked_sizes.numbers import KINDS, to_plain, track_number
from shapewright.record.guards import COMPARED, SizeRead, evaluate_expression

Program = Callable[[list[Any]], Any]


def less(one: Any, other: Any) -> bool:
    """`one < other`; Python compares a float at the left without asking the other."""
    return other > one if type(one) is float else one < other


BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "min": min, "max": max, "divmod": lambda a, b: divmod(a, b)[1],
    "<": lambda a, b: a + 1 if less(a, b) else b,
    "==": lambda a, b: a if (b == a if type(a) is float else a == b) else b - 1,
}  # fmt: skip
UNARY = {
    "-": operator.neg, "abs": abs, "ceil": math.ceil, "floor": math.floor,
    "round": round, "+": operator.pos, "trunc": math.trunc, "~": operator.invert,
    "round1": lambda a: round(a, 1), "** 2": lambda a: a**2,
    "if": lambda a: a - 1 if a else a + 1, "int": int, "float": float,
    "bits": lambda a: a.bit_length(),
}  # fmt: skip


def unary(parts: tuple[str, Program]) -> Program:
    return lambda sizes: UNARY[parts[0]](parts[1](sizes))


def binary(parts: tuple[str, Program, Program]) -> Program:
    return lambda sizes: BINARY[parts[0]](parts[1](sizes), parts[2](sizes))


def constant(value: Any) -> Program:
    return lambda sizes: value


def taken(place: int) -> Program:
    return lambda sizes: sizes[place]


LEAVES = (
    st.integers(0, 2).map(taken)
    | st.integers(-3, 9).map(constant)
    | st.sampled_from([0.5, 1.5, -2.0, 3.0, True]).map(constant)
)
PROGRAMS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(sorted(UNARY)), inner).map(unary)
        | st.tuples(st.sampled_from(sorted(BINARY)), inner, inner).map(binary)
    ),
    max_leaves=12,
)
SIZES = st.lists(st.integers(0, 40), min_size=3, max_size=3)


def outcome(program: Program, sizes: list[Any]) -> Any:
    """What a program gives, or how it fails; the type counts, and that 0.0 is not 0."""
    try:
        found = to_plain(program(sizes))
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        return type(error), str(error)
    return type(found), repr(found)


def remembering(sizes: list[int], seen: Comparisons) -> list[Any]:
    return [
        track_number(s, SizeRead(1, dim, s), 1, seen) for dim, s in enumerate(sizes)
    ]


@given(PROGRAMS, SIZES)
def test_a_program_gives_the_same(program: Program, sizes: list[int]) -> None:
    expected = outcome(program, sizes)
    assert outcome(program, remembering(sizes, Comparisons())) == expected


@given(PROGRAMS, SIZES, SIZES)
def test_an_expression_says_what_other_sizes_would_give(
    program: Program, sizes: list[int], others: list[int]
) -> None:
    """Where the program takes the same way; the guards tell whether it does."""
    seen = Seen()
    try:
        found = program(remembering(sizes, seen))
    except (ArithmeticError, ValueError, TypeError, AttributeError):
        return
    reads = [SizeRead(1, dim, size) for dim, size in enumerate(sizes)]
    if type(found) not in KINDS:
        return
    assert evaluate_expression(found.expression, {}) == to_plain(found)
    values = dict(zip(reads, others, strict=True))
    try:
        same_way = all(
            COMPARED[symbol](
                evaluate_expression(left, values), evaluate_expression(right, values)
            )
            is outcome
            for left, symbol, right, outcome in seen.guards
        )
        expected = program(list(others)) if same_way and not seen.lost else None
    except (ArithmeticError, ValueError, TypeError, AttributeError):
        return
    if expected is not None:
        assert math.isclose(evaluate_expression(found.expression, values), expected)


class Seen(Comparisons):
    """Comparisons without places."""

    def __init__(self) -> None:
        super().__init__()
        self.guards: list[Any] = []

    def compared(self, *sides: Any) -> None:
        self.guards.append(sides)

    def lose(self, what: str) -> None:
        self.lost["", (0, 0)] = 1
