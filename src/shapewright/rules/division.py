"""Division with a rounding mode, reciprocals and powers."""

from __future__ import annotations

from typing import Any

from shapewright.rules.arithmetic import Binary, in_place, out_of_place
from shapewright.rules.elementwise import new, pointwise, unary, written
from shapewright.rules.meta import Misfit
from shapewright.rules.promotion import KIND, NUMBERS, common, floated
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous
from shapewright.rules.unary import Family

_TRUE = Binary(Family("bihfc", "float"), ("DivBackward0",) * 3)
_FLOOR = Binary(Family("ihf", "same", "div_floor_cpu"), ("DivBackward2",) * 3, True)
_TRUNC = Binary(Family("ihf", "same", "div_trunc_cpu"), ("DivBackward2",) * 3, True)

_NEW = {
    None: out_of_place(_TRUE), "floor": out_of_place(_FLOOR),
    "trunc": out_of_place(_TRUNC),
}  # fmt: skip
_WRITTEN = {
    None: in_place(_TRUE), "floor": in_place(_FLOOR), "trunc": in_place(_TRUNC)
}  # fmt: skip


def _check_mode(mode: Any) -> None:
    if mode not in _NEW:
        raise Misfit(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
            f"found '{mode}'"
        )


@rule("torch.div", "torch.Tensor.div", "torch.divide", "torch.Tensor.divide")
def div(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None
) -> Any:
    """True division makes floats; a rounding mode keeps integers."""
    _check_mode(rounding_mode)
    made = _NEW[rounding_mode](input, other, out=out)
    return made


@rule("torch.Tensor.div_", "torch.Tensor.divide_", writes=0)
def div_in_place(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """As `div`, into the dividend."""
    _check_mode(rounding_mode)
    made = _WRITTEN[rounding_mode](input, other)
    return made


@rule("torch.Tensor.__rdiv__", "torch.Tensor.__rtruediv__")
def divided_by(self: Any, other: Any) -> Any:
    """`2 / x` is `x.reciprocal() * 2`."""
    if KIND.get(self.dtype, 3) == 3:
        return NotImplemented
    first = unary(self, floated(self.dtype), "ReciprocalBackward0")
    dtype = common(first, other)
    if dtype is None:
        return NotImplemented
    return pointwise(dtype, "MulBackward0", first, other)


def _pow_dtype(base: Any, exponent: Any) -> str | None:
    dtype = common(base, exponent)
    if dtype is None or dtype == "complex32":
        return None
    return dtype


def _check_power(base: Any, exponent: Any) -> None:
    if type(exponent) in (int, bool) and exponent < 0 and KIND[base.dtype] < 2:
        raise Misfit("Integers to negative integer powers are not allowed.")


@rule("torch.pow", "torch.Tensor.pow", "torch.Tensor.__pow__")
def power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """A number as exponent makes it an op of one tensor."""
    if type(exponent) in NUMBERS and type(input) in NUMBERS:
        return NotImplemented
    dtype = _pow_dtype(input, exponent)
    if dtype is None or dtype == "bool" or out is not None:
        return NotImplemented
    if type(exponent) in NUMBERS:
        _check_power(input, exponent)
        return unary(input, dtype, "PowBackward0")
    if type(input) in NUMBERS:
        shape = exponent.shape
        return new(shape, dtype, contiguous(shape), "PowBackward2")
    return pointwise(dtype, "PowBackward1", input, exponent)


@rule("torch.Tensor.__rpow__")
def power_of(self: Any, other: Any) -> Any:
    """`2 ** x`."""
    return power(other, self)


@rule("torch.Tensor.pow_", "torch.Tensor.__ipow__", writes=0)
def power_in_place(input: Any, exponent: Any) -> Any:
    """As `pow`, into the base."""
    dtype = _pow_dtype(input, exponent)
    if dtype is None or dtype == "bool" or KIND.get(input.dtype, 3) == 3:
        return NotImplemented
    if type(exponent) in NUMBERS:
        _check_power(input, exponent)
        return written(input, dtype, "PowBackward0")
    return written(input, dtype, "PowBackward1", exponent)
