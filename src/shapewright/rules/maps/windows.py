"""Windows that slide along spatial dims: their places, steps, letters and sizes.

Shared by convolution, pooling, unfold and fold. Sizes follow
`pooling_output_shape_pad_lr` of torch's `native/Pool.h`, which with a dilation is also
the formula of convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shapewright.dims.expression import Expression, Letter, number
from shapewright.rules.maps.index_map import Loop, Within

SPACE = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}
"""Letters of the places of a window, by the number of spatial dims."""
STEPS = {1: ("u",), 2: ("u", "v"), 3: ("t", "u", "v")}
"""Letters of the steps inside a window."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window along one dim of `size` elements, with padding before and after.

    `rounded_up` is pooling's `ceil_mode`: a last window may go over the edge.
    """

    size: int
    kernel: int
    stride: int = 1
    before: int = 0
    after: int = 0
    dilation: int = 1
    rounded_up: bool = False

    @property
    def reach(self) -> int:
        """From a window's first element to its last, in elements."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def places(self) -> int:
        """How many places the window takes: the output's size."""
        room = self.size + self.before + self.after - self.reach
        if not self.rounded_up:
            return room // self.stride + 1
        count = -(-room // self.stride) + 1
        return count - self.drops_last

    @property
    def drops_last(self) -> bool:
        """Whether a rounded-up last window is dropped: it starts past the input."""
        room = self.size + self.before + self.after - self.reach
        last = -(-room // self.stride) * self.stride
        return self.rounded_up and last >= self.size + self.before

    def at(self, place: Expression, step: Expression) -> Expression:
        """The element that a step reads: negative or past the end in the padding."""
        return place * self.stride + step * self.dilation - self.before

    def within(
        self, place: Expression, step: Expression, padded: bool = False
    ) -> tuple[Within, ...]:
        """What must hold for a step to be inside the input, or inside the padded one.

        Nothing where every step is.
        """
        before, after = (self.before, self.after) if padded else (0, 0)
        last = (self.places - 1) * self.stride + self.reach - 1 - self.before
        if self.before <= before and last < self.size + after:
            return ()
        return (Within(self.at(place, step), -before, self.size + after),)

    def all_outside(self) -> bool:
        """Whether some window has no step inside: a dilated one may step over all."""
        starts = range(-self.before, self.size + self.after, self.stride)
        return not all(
            any(0 <= start + step * self.dilation < self.size for step in inner)
            for start in starts[: self.places]
            for inner in [range(self.kernel)]
        )


def per_dim(value: Any, dims: int) -> tuple[int, ...]:
    """One number a dim, where one stands for all."""
    if isinstance(value, int):
        return (value,) * dims
    sizes: tuple[int, ...] = tuple(value)
    return sizes * dims if len(sizes) == 1 else sizes


def leading(count: int) -> tuple[str, ...]:
    """Letters of the dims before the channels."""
    return ("n",) if count == 1 else tuple("ijklmpq"[:count])


def places(dims: int) -> tuple[Letter, ...]:
    """The letters of a window's places."""
    return tuple(Letter(name) for name in SPACE[dims])


def steps(sizes: Sequence[int]) -> tuple[tuple[Loop, ...], tuple[Expression, ...]]:
    """Loops through a window, and their letters; no loop along a size of 1."""
    return looped(dict(zip(STEPS[len(sizes)], sizes, strict=True)))


def looped(sizes: dict[str, int]) -> tuple[tuple[Loop, ...], tuple[Expression, ...]]:
    """Loops by their letters; a size of 1 has no loop, and is read at 0."""
    loops = tuple(Loop(name, size) for name, size in sizes.items() if size != 1)
    letters = tuple(
        number(0) if size == 1 else Letter(name) for name, size in sizes.items()
    )
    return loops, letters


def named(sizes: Sequence[int]) -> str:
    """Sizes as they are read: `3 x 3`."""
    return " x ".join(map(str, sizes))
