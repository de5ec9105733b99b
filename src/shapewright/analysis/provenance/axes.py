"""Axes (what the dims of a tensor count), and how a reshape cuts axes into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

Kind = Literal[
    "input", "source", "feature", "state", "made", "one", "parts", "repeat",
    "expanded", "part", "changed", "unknown",
]  # fmt: skip
"""input: a dim of what the program was given. source: of data that it made itself
(random numbers, an array). feature: outputs of a layer's weight. state: a dim of a
parameter or buffer. made: of a tensor that a factory made. one: a dim of size 1.
parts: which of several tensors that were joined. part: a piece of another axis.
changed: the same axis at another size (a convolution, a slice)."""


@dataclass(slots=True, eq=False)
class Axis:
    """Something that a dim counts: samples, steps, rows, features.

    `data` says that it counts what the program was given (samples, steps, pixels), not
    what it learns. `explicit` is for a dim of size 1 that the program's text asks for.
    `normalised` is the number of the op that made its elements sum to one.
    """

    size: int
    kind: Kind
    words: str = ""
    data: bool = False
    of: Axis | None = None
    explicit: bool = False
    normalised: int | None = None

    @property
    def root(self) -> Axis:
        """Return the axis that this is a piece or a resized version of."""
        axis = self
        while axis.of is not None:
            axis = axis.of
        return axis

    @property
    def softmax(self) -> int | None:
        """Return the op that made weights along this axis, or along an axis that it is
        a piece of.
        """
        axis: Axis | None = self
        while axis is not None:
            if axis.normalised is not None:
                return axis.normalised
            axis = axis.of
        return None

    def __repr__(self) -> str:
        return f"{self.kind}:{self.size}"


Dim = tuple[Axis, ...]
"""What a dim counts; several axes where dims were put together, the slowest first."""
Dims = tuple[Dim, ...]

BEST = {
    "input": 0, "changed": 1, "source": 1, "part": 2, "feature": 3, "parts": 3,
    "state": 5, "made": 6, "repeat": 6, "one": 7, "expanded": 8, "unknown": 9,
}  # fmt: skip


def rank_dim(dim: Dim) -> int:
    """Return how informative a dim is; a lower number is more informative."""
    first = dim[0]
    return BEST[first.kind] if first.data or len(dim) == 1 else 4


def make_dims(shape: tuple[int, ...], kind: Kind = "unknown") -> Dims:
    """Return dims of which only the sizes are known."""
    return tuple((Axis(size, "one" if size == 1 else kind),) for size in shape)


def resize_dim(dim: Dim, size: int) -> Dim:
    """Return a dim with the same axis but another size."""
    first = dim[0]
    if prod(axis.size for axis in dim) == size:
        return dim
    data = any(axis.data for axis in dim)
    source = first if len(dim) == 1 else None
    return (Axis(size, "changed", first.words, data, source),)


@dataclass(frozen=True, slots=True)
class RegroupedDims:
    """Adjacent dims that a reshape cut into others, and the resulting dims.

    `aligned` is False where a new dim is no whole number of the old steps.
    """

    before: tuple[int, int]
    after: tuple[int, int]
    axes: tuple[Axis, ...]
    dims: Dims
    aligned: bool


class Cutter:
    """Cuts axes, and recognises the two pieces of a cut when they meet again."""

    def __init__(self) -> None:
        self.pieces: dict[tuple[int, int], tuple[Axis, Axis]] = {}
        self.whole: dict[tuple[int, int], Axis] = {}

    def cut(self, axis: Axis, high: int) -> tuple[Axis, Axis]:
        """Return the slow and the fast piece of an axis; a repeated cut returns the
        same pieces.
        """
        key = id(axis), high
        pieces = self.pieces.get(key)
        if pieces is None:
            slow = Axis(high, "part", axis.words, axis.data, axis)
            fast = Axis(axis.size // high, "part", axis.words, axis.data, axis)
            pieces = self.pieces[key] = slow, fast
            self.whole[id(slow), id(fast)] = axis
        return pieces

    def joined(self, axes: list[Axis]) -> Dim:
        """Join adjacent pieces; pieces of the same cut become their axis again."""
        done: list[Axis] = []
        for axis in axes:
            done.append(axis)
            while len(done) > 1:
                whole = self.whole.get((id(done[-2]), id(done[-1])))
                if whole is None:
                    break
                done[-2:] = [whole]
        return tuple(done)

    def recut(
        self, dims: Dims, shape: tuple[int, ...]
    ) -> tuple[Dims, list[RegroupedDims]]:
        """Return the dims after a reshape, and the blocks that changed."""
        new_dims: list[Dim] = []
        blocks: list[RegroupedDims] = []
        i = j = 0
        sizes = [prod(axis.size for axis in dim) for dim in dims]
        if 0 in sizes or 0 in shape:
            return make_dims(shape), []
        while i < len(dims) or j < len(shape):
            if i < len(dims) and j < len(shape) and sizes[i] == shape[j]:
                new_dims.append(dims[i])
                i, j = i + 1, j + 1
                continue
            if j < len(shape) and shape[j] == 1:
                front = dims[i][0] if i < len(dims) and len(dims[i]) > 1 else None
                if front is not None and front.size == 1:
                    new_dims.append((front,))
                    dims = (*dims[:i], dims[i][1:], *dims[i + 1 :])
                else:
                    new_dims.append((Axis(1, "one", explicit=True),))
                j += 1
                continue
            if i < len(dims) and sizes[i] == 1:
                kept = [axis for axis in dims[i] if axis.kind == "input"]
                if kept and i + 1 < len(dims):
                    dims = (*dims[: i + 1], (*kept, *dims[i + 1]), *dims[i + 2 :])
                i += 1
                continue
            start, place = i, j
            left = right = 1
            while left != right or left == 1:
                if left <= right and i < len(dims):
                    left, i = left * sizes[i], i + 1
                elif j < len(shape):
                    right, j = right * shape[j], j + 1
                else:
                    return make_dims(shape), blocks
            axes = [a for dim in dims[start:i] for a in dim if a.size != 1]
            cut_dims, aligned = self.cut_up(axes, shape[place:j])
            new_dims += cut_dims
            blocks.append(
                RegroupedDims(
                    (start, i), (place, j), tuple(axes), tuple(cut_dims), aligned
                )
            )
        return tuple(new_dims), blocks

    def cut_up(
        self, axes: list[Axis], shape: tuple[int, ...]
    ) -> tuple[list[Dim], bool]:
        """Cut axes into dims of these sizes; the returned flag is False if a cut
        crosses an axis.
        """
        left = list(reversed(axes))
        cut_dims: list[Dim] = []
        for size in shape:
            need, taken = size, list[Axis]()
            while need > 1:
                if not left:
                    return list(make_dims(shape)), False
                axis = left.pop()
                if need % axis.size == 0:
                    taken.append(axis)
                    need //= axis.size
                elif axis.size % need == 0:
                    slow, fast = self.cut(axis, need)
                    taken.append(slow)
                    left.append(fast)
                    need = 1
                else:
                    return list(make_dims(shape)), False
            cut_dims.append(
                self.joined(taken) if taken else (Axis(1, "one", explicit=True),)
            )
        return cut_dims, True
