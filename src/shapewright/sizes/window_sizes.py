"""Windows that slide along spatial dims: where sizes come from, in one place.

Convolution, pooling, unfold and fold ask here, in their rules and in their index maps.
Sizes follow `pooling_output_shape_pad_lr` of torch's `native/Pool.h`, which with a
dilation is also the formula of convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

Shape = tuple[int, ...]


class Window(NamedTuple):
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
        """Return the extent of a window in elements, from its first to its last."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def places(self) -> int:
        """Return the number of window positions, the output's size; below 1 if none
        fits.
        """
        room = self.size + self.before + self.after - self.reach
        if not self.rounded_up:
            return room // self.stride + 1
        return -(-room // self.stride) + 1 - self.drops_last

    @property
    def drops_last(self) -> bool:
        """Whether a rounded-up last window is dropped: it starts past the input."""
        room = self.size + self.before + self.after - self.reach
        last = -(-room // self.stride) * self.stride
        return self.rounded_up and last >= self.size + self.before

    def spread(self, more: int = 0) -> int:
        """Return the size that a transposed convolution makes of `size` elements."""
        sent = (self.size - 1) * self.stride + self.reach
        return sent - self.before - self.after + more

    def all_outside(self) -> bool:
        """Return whether some window has no step inside: a dilated one may step over
        all.
        """
        starts = range(-self.before, self.size + self.after, self.stride)
        inner = range(0, self.reach, self.dilation)
        return not all(
            any(0 <= start + step < self.size for step in inner)
            for start in starts[: self.places]
        )


def expand_per_dim(value: Any, dims: int) -> Shape:
    """Expand a number, or a sequence of one, to all dims; keep longer sequences."""
    if type(value) is int:
        return (value,) * dims
    sizes: Shape = tuple(value)
    return sizes * dims if len(sizes) == 1 else sizes


def compute_same_padding(kernel: int, dilation: int) -> tuple[int, int]:
    """Return what `padding="same"` adds; if that is odd, one more at the end."""
    total = dilation * (kernel - 1)
    return total // 2, total - total // 2


def compute_convolved(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Any,
    padding: Any,
    dilation: Any,
) -> tuple[Window, ...]:  # fmt: skip
    """Return the windows of a convolution, one for each dim of `kernel`."""
    dims = len(kernel)
    reach = expand_per_dim(dilation, dims)
    if padding == "same":
        sides = list(map(compute_same_padding, kernel, reach))
    else:
        pads = expand_per_dim(0 if padding == "valid" else padding, dims)
        sides = [(pad, pad) for pad in pads]
    return tuple(
        Window(size, width, step, before, after, far)
        for size, width, step, (before, after), far in zip(
            sizes, kernel, expand_per_dim(stride, dims), sides, reach, strict=True
        )
    )


def compute_pooled(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[Window, ...]:
    """Return the windows of a pooling; the stride defaults to the window's size."""
    dims = len(kernel)
    stride = kernel if stride is None or stride in ((), []) else stride
    return tuple(
        Window(size, width, step, pad, pad, far, ceil_mode)
        for size, width, step, pad, far in zip(
            sizes,
            kernel,
            expand_per_dim(stride, dims),
            expand_per_dim(padding, dims),
            expand_per_dim(dilation, dims),
            strict=True,
        )
    )
