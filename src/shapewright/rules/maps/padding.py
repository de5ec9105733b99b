"""Index maps of padding, of triangles, and of diagonals that become matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.dims.expression import Absolute, Clamped, Expression, Letter
from shapewright.rules.maps.index_map import (
    AtMost,
    Condition,
    Equal,
    IndexMap,
    NotDrawn,
    Read,
    Within,
    index_map,
    out_letters,
)
from shapewright.rules.maps.places import index_at
from shapewright.rules.maps.slicing import diagonal as diagonal_of
from shapewright.rules.maps.views import named
from shapewright.rules.meta import Meta
from shapewright.rules.padding import pad_pairs

MODES = {
    "reflect": "Mirrored at the edges, which are not repeated",
    "replicate": "The edges are repeated",
    "circular": "What comes out at one end goes in at the other",
}


@index_map("torch.nn.functional.pad", "torch._C._nn.pad")
def pad(
    input: Meta, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Any:
    pairs = pad_pairs(pad, len(input.shape))
    if mode == "constant":
        return filled(input, pairs, value or 0)
    shape = []
    at: list[Expression] = []
    letters = out_letters(len(input.shape))
    for letter, size, (left, right) in zip(letters, input.shape, pairs, strict=True):
        if mode == "circular" and size + min(left, right, 0) < max(left, right):
            return NotDrawn("a dim is padded with more than is left of it")
        shape.append(size + left + right)
        at.append(read_at(letter, size, left, right, mode))
    words = f"{MODES[mode]}, with {written(pairs)}."
    return IndexMap(tuple(shape), (Read("input", tuple(at)),), sentence=words)


def written(pairs: list[tuple[int, int]]) -> str:
    """The pads as text, of dims that have one."""
    parts = [f"{a} + {b} at dim {d}" for d, (a, b) in enumerate(pairs) if a or b]
    return " and ".join(parts) or "nothing"


@index_map("torch.constant_pad_nd")
def constant_pad_nd(input: Meta, pad: Sequence[int], value: float = 0) -> Any:
    return filled(input, pad_pairs(pad, len(input.shape)), value)


def filled(input: Meta, pairs: list[tuple[int, int]], value: float) -> IndexMap:
    """A number around the input; a negative pad cuts off."""
    letters = out_letters(len(input.shape))
    shape, at = [], []
    inside: list[Condition] = []
    for letter, size, (left, right) in zip(letters, input.shape, pairs, strict=True):
        shape.append(size + left + right)
        at.append(letter - left)
        if left > 0 or right > 0:
            inside.append(Within(letter, max(left, 0), left + size))
    words = f"{value} around the input: {written(pairs)}; a negative one cuts off."
    reads = (Read("input", tuple(at)),)
    return IndexMap(
        tuple(shape), reads, conditions=tuple(inside), start=value, sentence=words
    )


def read_at(letter: Letter, size: int, left: int, right: int, mode: str) -> Expression:
    """Where a padded dim is read."""
    here = letter - left
    if mode == "replicate":
        low, high = 0 if left > 0 else None, size - 1 if right > 0 else None
        return here if low is high is None else Clamped(here, low, high)
    if mode == "circular":
        if left <= 0 and right <= 0:
            return here
        cut = max(-left, 0)
        period = size - cut + min(right, 0)
        return (letter - max(left, 0)) % period + cut
    if left > 0:
        here = Absolute(here)
    return size - 1 - Absolute(size - 1 - here) if right > 0 else here


# -- triangles and diagonals -----------------------------------------------------------


@index_map(*named("tril", in_place=True))
def tril(input: Meta, diagonal: int = 0) -> Any:
    *_, i, j = out_letters(len(input.shape))
    return triangle(input, AtMost(j, i + diagonal), f"below diagonal {diagonal}")


@index_map(*named("triu", in_place=True))
def triu(input: Meta, diagonal: int = 0) -> Any:
    *_, i, j = out_letters(len(input.shape))
    return triangle(input, AtMost(i + diagonal, j), f"above diagonal {diagonal}")


def triangle(input: Meta, kept: Condition, where: str) -> IndexMap:
    """The elements that are kept, and 0 for the others."""
    shape = tuple(input.shape)
    reads = (Read("input", out_letters(len(shape))),)
    words = f"On and {where} of each matrix as it is, 0 elsewhere."
    return IndexMap(shape, reads, conditions=(kept,), start=0, sentence=words)


@index_map(*named("diag"))
def diag(input: Meta, diagonal: int = 0) -> Any:
    if len(input.shape) == 1:
        return diag_embed(input, diagonal)
    return diagonal_of(input, diagonal)


@index_map(*named("diag_embed"))
def diag_embed(input: Meta, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    rank = len(input.shape) + 1
    down, right = dim1 % rank, dim2 % rank
    size = input.shape[-1] + abs(offset)
    letters = out_letters(rank)
    rest = [letter for d, letter in enumerate(letters) if d not in (down, right)]
    kept = iter(input.shape[:-1])
    shape = tuple(size if d in (down, right) else next(kept) for d in range(rank))
    i, j = letters[down], letters[right]
    hit = Equal(j, i + offset) if offset >= 0 else Equal(i, j - offset)
    along = i if offset >= 0 else j
    words = f"The last dim as diagonal {offset} of dims {down} and {right}, else 0."
    reads = (Read("input", (*rest, along)),)
    return IndexMap(shape, reads, conditions=(hit,), start=0, sentence=words)


@index_map(*named("diagflat"))
def diagflat(input: Meta, offset: int = 0) -> Any:
    count = prod(input.shape)
    size = count + abs(offset)
    i, j = out_letters(2)
    hit = Equal(j, i + offset) if offset >= 0 else Equal(i, j - offset)
    # On the diagonal, `along` stays below `count`, whatever the matrix has.
    along = i if offset >= 0 else j
    at = index_at(along, input.shape, {along.name: count})
    words = f"All elements in row-major order, on diagonal {offset} of a matrix of 0."
    reads = (Read("input", at),)
    return IndexMap((size, size), reads, conditions=(hit,), start=0, sentence=words)
