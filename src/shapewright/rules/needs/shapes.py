"""Words and arithmetic that the needs of many operators share."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import FLOATING, KIND

Shape = tuple[int, ...]


def text(shape: Sequence[int]) -> str:
    """`(8, 256)`."""
    sizes = ", ".join(map(str, shape))
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def word(name: str) -> str:
    """An argument in a message: `{tensors_1}` for `tensors.1`."""
    return f"{{{name.replace('.', '_')}}}"


def product(shape: Sequence[int]) -> str:
    """`8·16·4·4 = 2048`; a lone size as it is."""
    shown = "·".join(map(str, shape))
    return f"{shown} = {prod(shape)}" if len(shape) > 1 else str(prod(shape))


def dims(count: int) -> str:
    """`1 dim`, `3 dims`."""
    return "1 dim" if count == 1 else f"{count} dims"


def differs(one: Sequence[int], other: Sequence[int]) -> int | None:
    """The first dim in which two shapes differ, None where ranks do."""
    if len(one) != len(other):
        return None
    return next((d for d in range(len(one)) if one[d] != other[d]), None)


def is_tensor(value: Any) -> bool:
    """Whether an argument is a tensor, as rules see it."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def resized(meta: Meta, dim: int, size: int) -> Made:
    """The tensor with another size in one dim."""
    shape = list(meta.shape)
    shape[dim] = size
    return Made(tuple(shape), meta.dtype)


def turned(meta: Meta, order: Sequence[int]) -> Made:
    """The tensor with its dims in another order."""
    shape, stride = meta.shape, meta.stride
    return Made(
        tuple(shape[d] for d in order), meta.dtype, tuple(stride[d] for d in order)
    )


def swapped(meta: Meta, one: int, other: int) -> Made:
    """The tensor with two dims swapped."""
    order = list(range(len(meta.shape)))
    order[one], order[other] = order[other], order[one]
    return turned(meta, order)


def with_dim(meta: Meta, dim: int) -> Made:
    """The tensor with a dim of size 1 more."""
    shape = meta.shape
    return Made((*shape[:dim], 1, *shape[dim:]), meta.dtype)


def cast(meta: Meta, dtype: str) -> Made:
    """The tensor with another dtype."""
    return Made(meta.shape, dtype, meta.stride)


def dtype_unmet(
    name: str, meta: Meta, wanted: str, why: str, reference: str = ""
) -> Unmet:
    """A tensor of a dtype that the call does not take."""
    return Unmet(
        "dtype-mismatch",
        f"{why}, but {word(name)} is {meta.dtype}",
        Place(name),
        Place(reference) if reference else None,
        meta.dtype,
        wanted,
        (Grant(name, cast(meta, wanted)),),
    )


def same_dtype(*named: tuple[str, Meta | None]) -> Unmet | None:
    """One dtype for all: that of the last, a weight; floats before whole numbers."""
    given = [(name, meta) for name, meta in named if meta is not None]
    floats = [pair for pair in given if pair[1].dtype in FLOATING]
    complexes = [pair for pair in given if KIND.get(pair[1].dtype) == 3]
    reference = (complexes or floats or given)[-1]
    for name, meta in given:
        if meta.dtype != reference[1].dtype:
            return dtype_unmet(
                name,
                meta,
                reference[1].dtype,
                f"{{op}} takes one dtype, {word(reference[0])} is {reference[1].dtype}",
                reference[0],
            )
    return None


def lined_up(named: Sequence[tuple[str, Shape]]) -> tuple[str, ...]:
    """Shapes lined up from the right, as on paper, marks under what does not fit.

    Example: ``lined_up([("x", (8, 3, 32)), ("y", (8, 1))])`` is the lines
    ``8  3  32   {x}`` and ``8   1   {y}`` below each other, and ``^`` below 3 and 8.
    """
    rank = max(len(shape) for _, shape in named)
    rows = [("",) * (rank - len(s)) + tuple(map(str, s)) for _, s in named]
    widths = [max(len(row[at]) for row in rows) for at in range(rank)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        + f"   {word(name)}"
        for row, (name, _) in zip(rows, named, strict=True)
    ]
    marks = []
    for at, width in enumerate(widths):
        sizes = {int(row[at]) for row in rows if row[at]} - {1}
        marks.append(("^" * width if len(sizes) > 1 else "").rjust(width))
    below = "  ".join(marks).rstrip()
    return (*lines, below) if below else tuple(lines)
