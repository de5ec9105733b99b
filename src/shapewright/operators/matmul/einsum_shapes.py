"""Metadata rule for `einsum`, and the parser of its equation.

Both forms, `"bij,bjk->bik"` and lists of numbers, become `Axes`: a name for every dim
of every operand and of the output. The parser ignores strides and kernels. Its errors
are torch's, in order and wording (`einsum` in `aten/src/ATen/native/Linear.cpp`).

Mirrors `einsum` and `sumproduct_pair` in `aten/src/ATen/native/Linear.cpp`: operands
are permuted to (output, summed) and contracted from left to right, each pair by one
`bmm` whose result is permuted back, so the output need not be contiguous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from math import prod
from typing import Any

from shapewright.operators.matmul.product_shapes import SUPPORTED
from shapewright.operators.metadata_rules import Made, Misfit, rule, setting
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.strides import (
    compute_elementwise_strides,
    compute_viewed,
    contiguous,
)

Shape = tuple[int, ...]
Names = tuple[str, ...]
ELLIPSIS = "..."
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""All letters, in torch's order for those that no output names."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The dims of an equation by name: a letter, or `...0`, `...1` for an ellipsis.

    `"...i,i->..."` with shapes (8, 16, 4) and (4,) has operands
    `(("...0", "...1", "i"), ("i",))`, output `("...0", "...1")`, summed `("i",)` and
    sizes 8, 16 and 4. An ellipsis is counted from its last dim, as in broadcasting, so
    a shorter ellipsis begins at a later number. A name that an operand has twice is a
    diagonal. An operand's size of 1 broadcasts.
    """

    operands: tuple[Names, ...]
    output: Names
    summed: Names
    sizes: dict[str, int]


def read(equation: str, shapes: Sequence[Shape]) -> Axes:
    """Parse an equation for operands of these shapes.

    Example: `read("ij,jk", [(2, 3), (3, 4)]).output == ("i", "k")`; without an arrow,
    the output has every letter that occurs once, in the order of `LETTERS`.
    """
    left, arrow, right = equation.partition("->")
    labels = _operands(left, len(shapes))
    covered = _covered(labels, shapes)
    dots = tuple(f"...{dim}" for dim in range(covered))
    counts = Counter(label for names in labels for label in names if label != ELLIPSIS)
    if arrow:
        output = _output(right, len(left) + len(arrow), counts)
    else:
        output = (ELLIPSIS, *(label for label in LETTERS if counts[label] == 1))
    summed = () if ELLIPSIS in output else dots
    summed += tuple(x for x in LETTERS if counts[x] and x not in output)
    operands = tuple(
        _named(names, dots[covered + len(names) - 1 - len(shape) :])
        for names, shape in zip(labels, shapes, strict=True)
    )
    sizes = dict.fromkeys((*dots, *counts), 1)
    for place, shape in enumerate(shapes):
        _measure(sizes, operands[place], shape, place)
    return Axes(operands, _named(output, dots), summed, sizes)


def written(subscripts: Sequence[Any], output: Any = None) -> str:
    """Return the equation for lists: `written([[0, 1], [1, 2]]) == "AB,BC"`."""
    text = ",".join("".join(map(_letter, subscript)) for subscript in subscripts)
    return text if output is None else f"{text}->{''.join(map(_letter, output))}"


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return ELLIPSIS
    if 0 <= number < len(LETTERS):
        return LETTERS[number]
    raise Misfit(
        "einsum(): subscript in subscript list is not within the valid range [0, 52)",
        "ValueError",
    )


def _named(labels: Names, dots: Names) -> Names:
    """Return the labels with any ellipsis replaced by the names of its dims."""
    if ELLIPSIS not in labels:
        return labels
    at = labels.index(ELLIPSIS)
    return (*labels[:at], *dots, *labels[at + 1 :])


def _operands(left: str, count: int) -> list[Names]:
    """Parse the labels of each operand, in which an ellipsis is a single label."""
    operands: list[list[str]] = [[]]
    at = 0
    while at < len(left):
        label, here = left[at], operands[-1]
        if label == ",":
            if len(operands) == count:
                raise Misfit(
                    "einsum(): fewer operands were provided than specified in the "
                    "equation"
                )
            operands.append([])
        elif label == ".":
            message = f"einsum(): found '.' for operand {len(operands) - 1}"
            if ELLIPSIS in here:
                raise Misfit(f"{message} for which an ellipsis was already found")
            if left[at : at + 3] != ELLIPSIS:
                raise Misfit(f"{message} that is not part of any ellipsis")
            here.append(ELLIPSIS)
            at += 2
        elif label != " ":
            here.append(_checked(label, at))
        at += 1
    if len(operands) < count:
        raise Misfit(
            "einsum(): more operands were provided than specified in the equation"
        )
    return [tuple(labels) for labels in operands]


def _checked(label: str, at: int) -> str:
    if label in LETTERS:
        return label
    raise Misfit(
        f"einsum(): invalid subscript given at index {at} in the equation string, "
        "subscripts must be in [a-zA-Z]"
    )


def _covered(labels: list[Names], shapes: Sequence[Shape]) -> int:
    """Return the largest number of dims that an ellipsis covers."""
    most = 0
    for place, (names, shape) in enumerate(zip(labels, shapes, strict=True)):
        dotted = ELLIPSIS in names
        count = len(names) - dotted
        if count != len(shape) and not (dotted and count < len(shape)):
            raise Misfit(
                f"einsum(): the number of subscripts in the equation ({count}) "
                + ("is more than" if dotted else "does not match")
                + f" the number of dimensions ({len(shape)}) for operand {place}"
                + ("" if dotted else " and no ellipsis was given")
            )
        if dotted:
            most = max(most, len(shape) - count)
    return most


def _output(right: str, start: int, counts: Counter[str]) -> Names:
    """Parse the labels after the arrow."""
    output: list[str] = []
    at = 0
    while at < len(right):
        label = right[at]
        if label == ".":
            message = "einsum(): found '.' for output "
            if ELLIPSIS in output:
                raise Misfit(f"{message}but an ellipsis (...) was already found")
            if right[at : at + 3] != ELLIPSIS:
                raise Misfit(f"{message}that is not part of any ellipsis (...)")
            output.append(ELLIPSIS)
            at += 2
        elif label != " ":
            output.append(_checked(label, start + at))
            if label in output[:-1] or not counts[label]:
                fault = (
                    "appears more than once in the output" if label in output[:-1]
                    else "does not appear in the equation for any input operand"
                )  # fmt: skip
                raise Misfit(f"einsum(): output subscript {label} {fault}")
        at += 1
    return tuple(output)


def _measure(sizes: dict[str, int], names: Names, shape: Shape, place: int) -> None:
    """Add the sizes of an operand to `sizes`; raise if they do not broadcast."""
    own: dict[str, int] = {}
    for name, size in zip(names, shape, strict=True):
        if name in own:
            if size != own[name]:
                raise Misfit(
                    f"einsum(): subscript {name} is repeated for operand {place} but "
                    f"the sizes don't match, {size} != {own[name]}"
                )
            continue
        before = sizes[name]
        if size != 1 and before not in (1, size):
            if name.startswith(ELLIPSIS):
                raise Misfit(
                    f"einsum(): dimension {len(own)} covered by ellipsis in operand "
                    f"{place}has size {size} which does not broadcast with previously "
                    f"seen ellipsis with size {before} for the respective dimension"
                )
            raise Misfit(
                f"einsum(): subscript {name} has size {size} for operand {place} which "
                f"does not broadcast with previously seen size {before}"
            )
        own[name] = size
        if size != 1:
            sizes[name] = size


@dataclass(frozen=True, slots=True)
class _Aligned:
    """An operand of the contraction, with shape and strides in the common dim order."""

    shape: Shape
    stride: Shape


def _given(args: tuple[Any, ...]) -> tuple[str, list[Any]] | None:
    """Return equation and operands of a call in either form; None if neither fits."""
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
    """Infer the output: `"bij,bjk->bik"`, (8, 2, 3), (8, 3, 4) give (8, 2, 4)."""
    call = _given(args)
    if call is None:
        return NotImplemented
    equation, operands = call
    axes = read(equation, [operand.shape for operand in operands])
    dtype = operands[0].dtype
    if dtype not in SUPPORTED or any(operand.dtype != dtype for operand in operands):
        return NotImplemented
    if len(operands) == 1:
        return _of_one(axes, operands[0])
    if len(operands) > 2 and _orders_otherwise():
        return NotImplemented
    strided = tuple((operand.shape, operand.stride) for operand in operands)
    shape, stride, _ = _contracted(equation, strided)
    return Made(
        shape, dtype, stride, "ViewBackward0" if axes.summed else "MulBackward0"
    )


def _of_one(axes: Axes, operand: Any) -> Any:
    """Infer the sum of a single operand; a mere view of it is left to torch."""
    if not axes.summed:
        return NotImplemented
    dtype = (
        operand.dtype if operand.dtype.startswith(("float", "bf", "complex")) else ""
    )
    shape = tuple(axes.sizes[name] for name in axes.output)
    return Made(shape, dtype or "int64", None, "SumBackward1" if dtype else "")


def _orders_otherwise() -> bool:
    """Return whether torch lets opt_einsum choose the order of contraction."""
    return find_spec("opt_einsum") is not None


def _flops(args: tuple[Any, ...]) -> int:
    call = _given(args)
    if call is None or len(call[1]) == 1:
        return 0
    equation, operands = call
    return _contracted(
        equation, tuple((operand.shape, operand.stride) for operand in operands)
    )[2]


@lru_cache(4096)
def _contracted(
    equation: str, operands: tuple[tuple[Shape, Shape], ...]
) -> tuple[Shape, Shape, int]:
    """Return shape, strides and FLOPs of contracting operands from left to right."""
    axes = read(equation, [shape for shape, _ in operands])
    order = (*axes.output, *axes.summed)
    left = [
        _aligned(names, *operand, order)
        for names, operand in zip(axes.operands, operands, strict=True)
    ]
    many = [
        sum(operand.shape[dim] != 1 for operand in left) for dim in range(len(order))
    ]
    kept, flops = len(axes.output), 0
    result = left[0]
    for other in left[1:]:
        result, count = _pair(result, other, kept, many)
        flops += count
    shape = result.shape[:kept]
    stride = result.stride
    if axes.summed:
        stride = compute_viewed(result.shape, stride, shape) or contiguous(shape)
    return shape, stride, flops


def _aligned(
    names: tuple[str, ...], shape: Shape, stride: Shape, order: tuple[str, ...]
) -> _Aligned:
    """Return the operand with dims in `order`: diagonals taken, missing dims as 1."""
    have: dict[str, tuple[int, int]] = {}
    for name, size, step in zip(names, shape, stride, strict=True):
        have[name] = (size, step + have[name][1] if name in have else step)
    dims = [have.get(name, (1, 1)) for name in order]
    return _Aligned(tuple(size for size, _ in dims), tuple(step for _, step in dims))


def _pair(a: _Aligned, b: _Aligned, kept: int, many: list[int]) -> tuple[_Aligned, int]:
    """Contract two operands over the dims that no later operand has."""
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


def _summed(operand: _Aligned, dims: list[int]) -> _Aligned:
    """Return `operand.sum(dims, keepdim=True)`."""
    if not dims:
        return operand
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(operand.shape))
    return _Aligned(shape, contiguous(shape))


def _multiplied(a: _Aligned, b: _Aligned) -> _Aligned:
    shape = broadcast(a.shape, b.shape)
    return _Aligned(
        shape,
        compute_elementwise_strides(shape, [(a.shape, a.stride), (b.shape, b.stride)]),
    )


def _by_bmm(a: _Aligned, b: _Aligned, gone: list[int]) -> tuple[_Aligned, int]:
    """Contract by one bmm over (shared, a's own and summed, b's own), permuted back.

    If all of b's own dims come before a's, the operands are swapped, so that the result
    needs no permutation (torch 2.6 does not do so).
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
    steps = compute_viewed(folded, contiguous(folded), split) or contiguous(split)
    stride = tuple(steps[laid.index(dim)] for dim in range(len(sizes)))
    flops = 2 * prod(folded) * prod(a.shape[dim] for dim in gone)
    return _Aligned(tuple(sizes), stride), flops
