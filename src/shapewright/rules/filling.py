"""In-place filling: zero_, fill_, copy_ and random draws into a tensor."""

from __future__ import annotations

from typing import Any

from shapewright.rules.broadcasting import broadcast
from shapewright.rules.elementwise import new, no_overlap
from shapewright.rules.meta import Made, Misfit
from shapewright.rules.promotion import FLOATING, KIND, KNOWN, NUMBERS
from shapewright.rules.registry import rule
from shapewright.rules.selection import storable


def _itself(input: Any, grad_fn: str) -> Made:
    return new(input.shape, input.dtype, input.stride, grad_fn)


@rule("torch.Tensor.zero_", "torch.zero_", writes=0)
def zero(input: Any) -> Any:
    """All zeros, in any layout."""
    return _itself(input, "ZeroBackward0") if input.dtype in KNOWN else NotImplemented


@rule("torch.Tensor.fill_", "torch.fill_", writes=0)
def fill(input: Any, value: Any) -> Any:
    """One value everywhere: a number or a 0-dim tensor."""
    if input.dtype not in KNOWN or KIND[input.dtype] == 3:
        return NotImplemented
    number = type(value) in NUMBERS
    if not number and value.shape:
        raise Misfit(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{len(value.shape)} dimensions."
        )
    if not storable(input.dtype, value):
        return NotImplemented
    return _itself(input, f"FillBackward{2 if number else 3}")


@rule("torch.Tensor.copy_", writes=0)
def copy(self: Any, src: Any, non_blocking: Any = False) -> Any:
    """`src`, broadcast to this shape and converted to this dtype."""
    if self.dtype not in KNOWN or KIND.get(getattr(src, "dtype", ""), 3) == 3:
        return NotImplemented
    no_overlap(self)
    if src.shape != self.shape:
        shape = broadcast(self.shape, src.shape)
        if shape != self.shape:
            raise Misfit(
                f"output with shape {list(self.shape)} doesn't match the broadcast "
                f"shape {list(shape)}"
            )
    return _itself(self, "CopyBackwards")


def _drawing(name: str, grad_fn: str, count: int) -> None:
    def metadata(input: Any, *numbers: Any, generator: Any = None) -> Any:
        if input.dtype not in FLOATING or len(numbers) not in (0, count):
            return NotImplemented
        if not all(type(number) in (int, float) for number in numbers):
            return NotImplemented
        if numbers and (
            numbers[-1] <= 0 or (name == "uniform_" and numbers[0] > numbers[1])
        ):
            return NotImplemented
        no_overlap(input)
        return _itself(input, grad_fn)

    rule(f"torch.Tensor.{name}", writes=0, random=True)(metadata)


_drawing("normal_", "NormalBackward0", 2)
_drawing("uniform_", "UniformBackward0", 2)
_drawing("exponential_", "ExponentialBackward0", 1)
_drawing("log_normal_", "LogNormalBackward0", 2)
_drawing("cauchy_", "CauchyBackward0", 2)
