"""einsum: products of operands, summed over the letters that don't come out.

Mirrors `einsum` and `sumproduct_pair` in `aten/src/ATen/native/Linear.cpp`: operands
are permuted to (output, summed) and contracted from left to right, each pair by one
`bmm` whose result is permuted back, so what comes out need not be contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from typing import Any

from shapewright.rules.broadcasting import broadcast
from shapewright.rules.contraction import SUPPORTED
from shapewright.rules.einsum_equation import Axes, read, written
from shapewright.rules.meta import Made, setting
from shapewright.rules.registry import rule
from shapewright.rules.strides import contiguous, iterated, viewed

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aligned:
    """An operand inside the contraction: shape and strides in the order of all dims."""

    shape: Shape
    stride: Shape


def given(args: tuple[Any, ...]) -> tuple[str, list[Any]] | None:
    """Equation and operands of a call in either form; None where it has neither."""
    if not args:
        return None
    if isinstance(args[0], str):
        operands = list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], tuple | list):
            operands = list(operands[0])
        equation = args[0]
    elif len(args) > 1:
        odd = len(args) % 2
        equation = written(args[1::2], args[-1] if odd else None)
        operands = list(args[: len(args) - odd : 2])
    else:
        return None
    tensors = all(hasattr(operand, "stride") for operand in operands)
    return (equation, operands) if operands and tensors else None


@rule("torch.einsum", flops=lambda *args: _flops(args))
def einsum(*args: Any) -> Any:
    """`"bij,bjk->bik"` with (8, 2, 3) and (8, 3, 4) gives (8, 2, 4)."""
    call = given(args)
    if call is None:
        return NotImplemented
    equation, operands = call
    axes = read(equation, [operand.shape for operand in operands])
    dtype = operands[0].dtype
    if dtype not in SUPPORTED or any(one.dtype != dtype for one in operands):
        return NotImplemented
    if len(operands) == 1:
        return _of_one(axes, operands[0])
    if len(operands) > 2 and _orders_otherwise():
        return NotImplemented
    strided = tuple((one.shape, one.stride) for one in operands)
    shape, stride, _ = _contracted(equation, strided)
    return Made(
        shape, dtype, stride, "ViewBackward0" if axes.summed else "MulBackward0"
    )


def _of_one(axes: Axes, operand: Any) -> Any:
    """A sum; without one a view comes out, which torch answers."""
    if not axes.summed:
        return NotImplemented
    dtype = (
        operand.dtype if operand.dtype.startswith(("float", "bf", "complex")) else ""
    )
    shape = tuple(axes.sizes[name] for name in axes.output)
    return Made(shape, dtype or "int64", None, "SumBackward1" if dtype else "")


def _orders_otherwise() -> bool:
    """Whether torch asks opt_einsum in which order to contract."""
    return find_spec("opt_einsum") is not None


def _flops(args: tuple[Any, ...]) -> int:
    call = given(args)
    if call is None or len(call[1]) == 1:
        return 0
    equation, operands = call
    return _contracted(equation, tuple((one.shape, one.stride) for one in operands))[2]


@lru_cache(4096)
def _contracted(
    equation: str, operands: tuple[tuple[Shape, Shape], ...]
) -> tuple[Shape, Shape, int]:
    """Shape, strides and FLOPs of the result, contracted from left to right."""
    axes = read(equation, [shape for shape, _ in operands])
    order = (*axes.output, *axes.summed)
    left = [
        _aligned(names, *operand, order)
        for names, operand in zip(axes.operands, operands, strict=True)
    ]
    many = [sum(one.shape[dim] != 1 for one in left) for dim in range(len(order))]
    kept, flops = len(axes.output), 0
    result = left[0]
    for other in left[1:]:
        result, count = _pair(result, other, kept, many)
        flops += count
    shape = result.shape[:kept]
    stride = result.stride
    if axes.summed:
        stride = viewed(result.shape, stride, shape) or contiguous(shape)
    return shape, stride, flops


def _aligned(
    names: tuple[str, ...], shape: Shape, stride: Shape, order: tuple[str, ...]
) -> Aligned:
    """The operand's dims in that order: diagonals taken, missing dims of size 1."""
    have: dict[str, tuple[int, int]] = {}
    for name, size, step in zip(names, shape, stride, strict=True):
        have[name] = (size, step + have[name][1] if name in have else step)
    dims = [have.get(name, (1, 1)) for name in order]
    return Aligned(tuple(size for size, _ in dims), tuple(step for _, step in dims))


def _pair(a: Aligned, b: Aligned, kept: int, many: list[int]) -> tuple[Aligned, int]:
    """Two operands contracted over the dims that no later operand has."""
    both: list[int] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for dim in range(kept, len(a.shape)):
        in_a, in_b = a.shape[dim] != 1, b.shape[dim] != 1
        if in_a and in_b:
            many[dim] -= 1
            if many[dim] == 1:
                both.append(dim)
                many[dim] = 0
        elif many[dim] == 1 and (in_a or in_b):
            alone[in_b].append(dim)
            many[dim] = 0
    a, b = _summed(a, alone[0]), _summed(b, alone[1])
    return _by_bmm(a, b, both) if both else (_multiplied(a, b), 0)


def _summed(operand: Aligned, dims: list[int]) -> Aligned:
    """`operand.sum(dims, keepdim=True)`."""
    if not dims:
        return operand
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(operand.shape))
    return Aligned(shape, contiguous(shape))


def _multiplied(a: Aligned, b: Aligned) -> Aligned:
    shape = broadcast(a.shape, b.shape)
    return Aligned(shape, iterated(shape, [(a.shape, a.stride), (b.shape, b.stride)]))


def _by_bmm(a: Aligned, b: Aligned, gone: list[int]) -> tuple[Aligned, int]:
    """One bmm over (dims of both, a's own and summed, b's own), permuted back.

    Where all of b's own dims come before a's, the operands are swapped, so that the
    result needs no permutation (torch 2.6 does not do so).
    """
    shared: list[int] = []
    first: list[int] = []
    second: list[int] = []
    for dim in range(len(a.shape)):
        if dim not in gone:
            in_a, in_b = a.shape[dim] != 1, b.shape[dim] != 1
            (shared if in_a and in_b else first if in_a else second).append(dim)
    if setting.einsum_swaps and first and second and second[-1] < first[0]:
        first, second = second, first
    sizes = [
        1 if dim in gone else a.shape[dim] if a.shape[dim] != 1 else b.shape[dim]
        for dim in range(len(a.shape))
    ]
    laid = [*shared, *first, *gone, *second]
    folded = tuple(prod(sizes[dim] for dim in dims) for dims in (shared, first, second))
    split = tuple(sizes[dim] for dim in laid)
    steps = viewed(folded, contiguous(folded), split) or contiguous(split)
    stride = tuple(steps[laid.index(dim)] for dim in range(len(sizes)))
    flops = 2 * prod(folded) * prod(a.shape[dim] for dim in gone)
    return Aligned(tuple(sizes), stride), flops
