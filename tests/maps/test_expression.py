"""An expression's text says the number that the expression is."""

from __future__ import annotations

import random

import pytest

from shapewright.sizes.expressions import Expression, Letter

A, B = Letter("a"), Letter("b")


def made(draw: random.Random, depth: int) -> Expression:
    """Any expression of `a` and `b`, some operations deep."""
    if not depth:
        return draw.choice([A, B])
    first = made(draw, depth - 1)
    ways = [
        lambda: first + made(draw, depth - 1),
        lambda: first - made(draw, depth - 1),
        lambda: first * draw.randint(-3, 3),
        lambda: first // draw.randint(1, 4),
        lambda: first % draw.randint(1, 4),
        lambda: draw.randint(-4, 4) - first,
    ]
    return draw.choice(ways)()


def test_the_text_is_as_python_reads_it() -> None:
    draw = random.Random(0)
    for _ in range(500):
        expression = made(draw, draw.randint(0, 4))
        letters = {"a": draw.randint(-9, 9), "b": draw.randint(-9, 9)}
        assert eval(str(expression), dict(letters)) == expression.value(letters)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A // 2 + B % 3, "a//2 + b%3"),
        (A - B // 2, "a - b//2"),
        (A // 2 * 3 + 1, "3*(a//2) + 1"),
        (-(A // 2), "-(a//2)"),
    ],
)
def test_brackets_stand_only_where_they_are_needed(
    expression: Expression, text: str
) -> None:
    assert str(expression) == text
