"""An axis: what a dim of a tensor counts, followed through the whole run."""

from __future__ import annotations

from dataclasses import dataclass
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
    """One thing that is counted: samples, steps, rows, features.

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
        """The axis that this is a piece of, or another size of."""
        axis = self
        while axis.of is not None:
            axis = axis.of
        return axis

    @property
    def softmax(self) -> int | None:
        """The op that made weights along this axis, or along what it is a piece of."""
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


def worth(dim: Dim) -> int:
    """How much a dim tells, the less the better."""
    first = dim[0]
    return BEST[first.kind] if first.data or len(dim) == 1 else 4


def fresh(shape: tuple[int, ...], kind: Kind = "unknown") -> Dims:
    """Dims of which nothing is known but their sizes."""
    return tuple((Axis(size, "one" if size == 1 else kind),) for size in shape)


def changed(dim: Dim, size: int) -> Dim:
    """The same axis at another size."""
    first = dim[0]
    if len(dim) == 1 and first.size == size:
        return dim
    data = any(axis.data for axis in dim)
    source = first if len(dim) == 1 else None
    return (Axis(size, "changed", first.words, data, source),)


def same(one: Dim, other: Dim) -> bool:
    """Whether two dims count the same thing."""
    return len(one) == len(other) and all(
        a is b for a, b in zip(one, other, strict=True)
    )
