"""Indices that several families share: broadcast operands, and letters left free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.dims.expression import Expression, Letter, number
from shapewright.rules.maps.index_map import LETTERS, Read, constant, out_letters

Shape = tuple[int, ...]
MOST = len(LETTERS)
"""Dims up to which there are letters."""


def stretched(
    shape: Shape, out: Shape, letters: Sequence[Expression] = ()
) -> tuple[Expression, ...]:
    """Where an output element reads an operand that is broadcast to `out`.

    Dims that the operand lacks are left out, a stretched size of 1 is read at 0.
    """
    own = (letters or out_letters(len(out)))[len(out) - len(shape) :]
    wanted = out[len(out) - len(shape) :]
    return tuple(
        number(0) if size == 1 != want else letter
        for size, want, letter in zip(shape, wanted, own, strict=True)
    )


def operand(
    name: str, value: Any, out: Shape, letters: Sequence[Expression] = ()
) -> Read:
    """The read of a broadcast tensor, or the number that stands in its place."""
    if not hasattr(value, "shape"):
        return constant(value)
    return Read(name, stretched(tuple(value.shape), out, letters))


def letters_of(text: str) -> tuple[Letter, ...]:
    """A letter for each character."""
    return tuple(Letter(name) for name in text)
