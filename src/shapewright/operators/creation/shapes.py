"""Metadata rules for new tensors, for copies, and for filling tensors in place."""

from __future__ import annotations

from math import ceil
from typing import Any

from shapewright.operators.metadata_rules import Made, Meta, Misfit, rule, setting
from shapewright.operators.pointwise.selection_shapes import storable
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KIND,
    KNOWN,
    NUMBERS,
    TO_COMPLEX,
    broadcast,
    new,
    no_overlap,
    number_dtype,
    pointwise,
)
from shapewright.sizes.strides import (
    compute_format_strides,
    compute_strides_like,
    contiguous,
)

_RANK = {"channels_last": 4, "channels_last_3d": 5}


def _shaped_like(input: Any, dtype: str, memory_format: Any, grad_fn: str) -> Made:
    """Return a new tensor of the input's shape; `preserve_format` keeps its layout."""
    shape = input.shape
    if memory_format is None or memory_format == "preserve_format":
        return new(shape, dtype, compute_strides_like(shape, input.stride), grad_fn)
    rank = _RANK.get(memory_format, len(shape))
    if len(shape) != rank:
        raise Misfit(f"required rank {rank} tensor to use {memory_format} format")
    return new(shape, dtype, compute_format_strides(shape, memory_format), grad_fn)


@rule("torch.clone", "torch.Tensor.clone")
def clone(input: Any, *, memory_format: Any = None) -> Any:
    """Infer the output of `clone`."""
    if input.dtype not in KNOWN:
        return NotImplemented
    return _shaped_like(input, input.dtype, memory_format, "CloneBackward0")


def _liking(name: str, *, values: int = 0, random: bool = False) -> None:
    def metadata(
        input: Any, *numbers: Any, dtype: str | None = None, layout: Any = None,
        device: Any = None, requires_grad: Any = False, memory_format: Any = None,
        pin_memory: Any = False, generator: Any = None,
    ) -> Any:  # fmt: skip
        result = dtype or input.dtype
        if result not in KNOWN or layout not in (None, "strided"):
            return NotImplemented
        if len(numbers) != values or not all(type(n) in NUMBERS for n in numbers):
            return NotImplemented
        if random and result not in FLOATING:
            return NotImplemented
        return _shaped_like(input, result, memory_format, "")

    rule(f"torch.{name}", random=random)(metadata)


_liking("zeros_like")
_liking("ones_like")
_liking("empty_like", random=False)
_liking("full_like", values=1)
_liking("rand_like", random=True)
_liking("randn_like", random=True)


def _size_of(size: tuple[Any, ...], named: Any) -> tuple[int, ...] | None:
    """Return the size given to a factory as ints or a sequence; None if invalid."""
    if named is not None:
        size = (named, *size)
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    if not all(type(length) is int for length in size):
        return None
    if any(length < 0 for length in size):
        return None
    return size


def _factory(name: str, random: bool) -> None:
    def metadata(
        *args: Any, size: Any = None, dtype: str | None = None, layout: Any = None,
        device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
        generator: Any = None, out: Any = None, names: Any = None,
        memory_format: Any = None,
    ) -> Any:  # fmt: skip
        shape = _size_of(args, size)
        result = dtype or setting.default_dtype
        if shape is None or result not in KNOWN or layout not in (None, "strided"):
            return NotImplemented
        if out is not None or names is not None or memory_format is not None:
            return NotImplemented
        if random and result not in FLOATING:
            return NotImplemented
        return new(shape, result, contiguous(shape), "")

    rule(f"torch.{name}", random=random)(metadata)


for _name in ("zeros", "ones", "empty"):
    _factory(_name, False)
for _name in ("rand", "randn"):
    _factory(_name, True)


def _new_factory(name: str) -> None:
    def metadata(
        self: Any, *args: Any, size: Any = None, dtype: str | None = None,
        device: Any = None, requires_grad: Any = False, layout: Any = None,
        pin_memory: Any = False,
    ) -> Any:  # fmt: skip
        shape = _size_of(args, size)
        result = dtype or self.dtype
        if shape is None or result not in KNOWN or layout not in (None, "strided"):
            return NotImplemented
        return new(shape, result, contiguous(shape), "")

    rule(f"torch.Tensor.{name}")(metadata)


for _name in ("new_zeros", "new_ones", "new_empty"):
    _new_factory(_name)


@rule("torch.full")
def full(
    size: Any, fill_value: Any, *, dtype: str | None = None, layout: Any = None,
    device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
    out: Any = None, names: Any = None,
) -> Any:  # fmt: skip
    """Infer the output of `full`; without `dtype`, the fill value gives the dtype."""
    shape = _size_of((size,), None)
    if shape is None or type(fill_value) not in NUMBERS or type(fill_value) is complex:
        return NotImplemented
    result = dtype or number_dtype(fill_value)
    if result not in KNOWN or layout not in (None, "strided") or out is not None:
        return NotImplemented
    return (
        NotImplemented
        if names is not None
        else new(shape, result, contiguous(shape), "")
    )


@rule("torch.Tensor.new_full")
def new_full(
    self: Any, size: Any, fill_value: Any, *, dtype: str | None = None,
    device: Any = None, requires_grad: Any = False, layout: Any = None,
    pin_memory: Any = False,
) -> Any:  # fmt: skip
    """Infer the output as `full` does; the default dtype is that of this tensor."""
    return full(size, fill_value, dtype=dtype or self.dtype, layout=layout)


@rule("torch.arange")
def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: str | None = None,
    layout: Any = None, device: Any = None, requires_grad: Any = False,
    pin_memory: Any = False, out: Any = None,
) -> Any:  # fmt: skip
    """Infer the output: `arange(2, 10, 3)` has 3 elements, floats the default dtype."""
    if end is None:
        start, end = 0, start
    numbers = (start, end, step)
    if out is not None or layout not in (None, "strided"):
        return NotImplemented
    if any(type(number) not in (int, float) for number in numbers):
        return NotImplemented
    if step == 0 or (end - start) * step < 0:
        return NotImplemented
    whole = all(type(number) is int for number in numbers)
    result = dtype or ("int64" if whole else setting.default_dtype)
    if (
        KIND.get(result, 0) == 0
        or KIND[result] == 3
        or (not whole and KIND[result] == 1)
    ):
        return NotImplemented
    count = -((start - end) // step) if whole else ceil((end - start) / step)
    return Made((count,), result, (1,), "")


@rule("torch.linspace", "torch.logspace")
def linspace(
    start: Any, end: Any, steps: Any, base: float = 10.0, *, dtype: str | None = None,
    layout: Any = None, device: Any = None, requires_grad: Any = False,
    pin_memory: Any = False, out: Any = None,
) -> Any:  # fmt: skip
    """Infer the output: `steps` numbers from `start` to `end`, both included."""
    if type(start) not in (int, float) or type(end) not in (int, float):
        return NotImplemented
    result = dtype or setting.default_dtype
    if type(steps) is not int or steps < 0 or result not in FLOATING:
        return NotImplemented
    if out is not None or layout not in (None, "strided"):
        return NotImplemented
    return Made((steps,), result, (1,), "")


@rule("torch.eye")
def eye(
    n: Any, m: Any = None, *, dtype: str | None = None, layout: Any = None,
    device: Any = None, requires_grad: Any = False, pin_memory: Any = False,
    out: Any = None,
) -> Any:  # fmt: skip
    """Infer the output: an identity matrix of n by m (m is n if not given)."""
    shape = _size_of((n, n if m is None else m), None)
    result = dtype or setting.default_dtype
    if shape is None or result not in KNOWN or out is not None:
        return NotImplemented
    if layout not in (None, "strided"):
        return NotImplemented
    return new(shape, result, contiguous(shape), "")


def _triangle_in_place(name: str) -> None:
    def wrote(input: Any, diagonal: Any = 0) -> Any:
        if input.dtype not in KNOWN or type(diagonal) is not int:
            return NotImplemented
        if len(input.shape) < 2:
            raise Misfit(f"{name}: input tensor must have at least 2 dimensions")
        if 0 in input.stride:  # refused for some shapes only
            return NotImplemented
        grad_fn = f"{name.capitalize()}Backward0"
        return new(input.shape, input.dtype, input.stride, grad_fn)

    rule(f"torch.Tensor.{name}_", writes=0)(wrote)


_triangle_in_place("tril")
_triangle_in_place("triu")


def _itself(input: Any, grad_fn: str) -> Made:
    return new(input.shape, input.dtype, input.stride, grad_fn)


@rule("torch.Tensor.zero_", "torch.zero_", writes=0)
def zero(input: Any) -> Any:
    """Infer the result of `zero_`, which is the tensor itself in any layout."""
    return _itself(input, "ZeroBackward0") if input.dtype in KNOWN else NotImplemented


@rule("torch.Tensor.fill_", "torch.fill_", writes=0)
def fill(input: Any, value: Any) -> Any:
    """Infer the result of `fill_` with a number or a 0-dim tensor."""
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
    """Infer the result of `copy_`, which broadcasts and converts `src`."""
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


def _to_complex(name: str, node: str) -> None:
    @rule(f"torch.{name}")
    def joined(real: Meta, imag: Meta, *, out: Any = None) -> Any:
        if (
            out is not None
            or real.dtype != imag.dtype
            or real.dtype not in ("float32", "float64")
        ):
            return NotImplemented
        return pointwise(TO_COMPLEX[real.dtype], node, real, imag, common="")


_to_complex("polar", "PolarBackward0")
_to_complex("complex", "ComplexBackward0")
