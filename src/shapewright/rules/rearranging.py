"""New tensors with elements moved: roll, flip; and in order: sort, topk."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta, Misfit
from shapewright.rules.promotion import KNOWN
from shapewright.rules.registry import rule
from shapewright.rules.strides import formatted, like, suggested_format
from shapewright.rules.wording import wrap_dim


def _named(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Ints given one by one, or as one sequence."""
    if len(args) == 1 and not isinstance(args[0], int):
        return tuple(args[0])
    return args


@rule("torch.roll", "torch.Tensor.roll")
def roll(input: Meta, shifts: Any, dims: Any = ()) -> Any:
    """`(8, 16)` rolled by 1 gives (8, 16): dim by dim, or as one row without dims."""
    shape = input.shape
    dims = (dims,) if type(dims) is int else tuple(dims)
    shifts = (shifts,) if type(shifts) is int else tuple(shifts)
    if 0 in shape or not shape or len(shifts) != max(len(dims), 1):
        return NotImplemented
    if any(type(one) is not int for one in dims + shifts):
        return NotImplemented
    for dim in dims:
        wrap_dim(dim, len(shape))
    hinted = suggested_format(shape, input.stride) if dims else "contiguous_format"
    if hinted != "contiguous_format" and (1 in shape or len(dims) > 1):
        return NotImplemented
    kept = formatted(shape, hinted)
    return Made(shape, input.dtype, kept, "RollBackward0")


@rule("torch.flip", "torch.Tensor.flip")
def flip(input: Meta, *named: Any, dims: Any = None) -> Any:
    """`(8, 16)` flipped in any dims gives (8, 16)."""
    shape = input.shape
    named = _named(named if dims is None else (dims,))
    if not shape or 0 in shape or not named or input.dtype not in KNOWN:
        return NotImplemented
    if any(type(dim) is not int for dim in named):
        return NotImplemented
    wrapped = [wrap_dim(dim, len(shape)) for dim in named]
    if len(set(wrapped)) != len(wrapped):
        return NotImplemented
    return Made(shape, input.dtype, like(shape, input.stride), "FlipBackward0")


def _sorted(input: Meta, dim: Any, node: str) -> Any:
    shape = input.shape
    if type(dim) is not int or input.dtype not in KNOWN or "complex" in input.dtype:
        return NotImplemented
    wrap_dim(dim, len(shape))
    if 0 in shape:
        return NotImplemented
    stride = like(shape, input.stride)
    return [
        Made(shape, input.dtype, stride, node),
        Made(shape, "int64", stride, ""),
    ]


@rule("torch.sort", "torch.Tensor.sort")
def sort(
    input: Meta,
    dim: int = -1,
    descending: bool = False,
    *,
    stable: bool | None = None,
    out: Any = None,
) -> Any:
    """`(8, 16)` gives values (8, 16) and int64 indices (8, 16)."""
    node = "SortBackward0" if stable is None else "SortBackward1"
    return NotImplemented if out is not None else _sorted(input, dim, node)


@rule("torch.argsort", "torch.Tensor.argsort")
def argsort(
    input: Meta, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Any:
    """`(8, 16)` gives int64 indices (8, 16)."""
    made = _sorted(input, dim, "")
    return made if made is NotImplemented else made[1]


@rule("torch.msort", "torch.Tensor.msort")
def msort(input: Meta, *, out: Any = None) -> Any:
    """`(8, 16)` gives (8, 16), each column in order."""
    if out is not None or not input.shape:
        return NotImplemented
    made = _sorted(input, 0, "SortBackward0")
    return made if made is NotImplemented else made[0]


@rule("torch.topk", "torch.Tensor.topk")
def topk(
    input: Meta,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Any = None,
) -> Any:
    """`(8, 16)`, 3 of the last dim: values and int64 indices (8, 3)."""
    shape = input.shape
    if out is not None or type(k) is not int or type(dim) is not int:
        return NotImplemented
    if input.dtype not in KNOWN or "complex" in input.dtype or not shape:
        return NotImplemented
    at = wrap_dim(dim, len(shape))
    if not 0 <= k <= shape[at]:
        raise Misfit("selected index k out of range")
    if input.dtype == "bool" or 0 in shape:
        return NotImplemented
    made = (*shape[:at], k, *shape[at + 1 :])
    return [
        Made(made, input.dtype, None, "TopkBackward0"),
        Made(made, "int64", None, ""),
    ]
