"""Checks of the arguments of `view`, `reshape`, `flatten`, `expand`, `repeat` and other
functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    DOES_NOT_DIVIDE,
    ELEMENT_COUNT_MISMATCH,
    EXPAND_MISMATCH,
    NOT_CONTIGUOUS,
    NOT_POSITIVE,
    REPEAT_COUNTS,
    TWO_UNKNOWN_SIZES,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import dims, of_positive, product, text
from shapewright.operators.needs_registry import needs


def _sizes_of(shape: Sequence[Any]) -> tuple[int, ...] | None:
    """Return sizes given separately or as a tuple, or None if they are not ints."""
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = shape[0]
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in shape)
    return tuple(shape) if whole else None


@needs("torch.Tensor.view")
def view(self: Meta, *shape: Any) -> Unmet | None:
    """Check that the sizes hold all elements, and that the strides allow a view."""
    sizes = _sizes_of(shape)
    if sizes is None:
        return None
    wrong = _of_elements("self", self, sizes, "shape")
    return wrong or _of_storage(self, sizes)


@needs("torch.Tensor.reshape")
def tensor_reshape(self: Meta, *shape: Any) -> Unmet | None:
    """Check that the shape has as many elements as the input."""
    sizes = _sizes_of(shape)
    return None if sizes is None else _of_elements("self", self, sizes, "shape")


@needs("torch.reshape")
def reshape(input: Meta, shape: Any) -> Unmet | None:
    """Check that the shape has as many elements as the input."""
    sizes = _sizes_of(shape)
    return None if sizes is None else _of_elements("input", input, sizes, "shape")


@needs("torch.Tensor.view_as")
def view_as(self: Meta, other: Meta) -> Unmet | None:
    """Check that `other` has as many elements, and that the strides allow a view."""
    have, wanted = prod(self.shape), prod(other.shape)
    if have == wanted:
        return _of_storage(self, other.shape)
    return Unmet(
        ELEMENT_COUNT_MISMATCH,
        f"{{op}} needs {wanted} elements for the shape of {{other}}, got {have}",
        Place("self"),
        Place("other"),
        have,
        wanted,
        (Grant("self", Made(other.shape, self.dtype)),),
        lines=_arithmetic("self", self.shape, other.shape),
    )


@needs("torch.Tensor.reshape_as")
def reshape_as(self: Meta, other: Meta) -> Unmet | None:
    """Check that `other` has as many elements; the strides do not matter."""
    return None if prod(self.shape) == prod(other.shape) else view_as(self, other)


def _arithmetic(
    name: str, shape: Sequence[int], sizes: Sequence[int]
) -> tuple[str, ...]:
    """Return the number of elements of both shapes, as products in text."""
    return (
        f"{product(shape)} elements in {{{name}}}",
        f"{product(sizes)} in {text(sizes)}",
    )


def _of_negative(argument: str, sizes: Sequence[int]) -> Unmet:
    """Return the `Unmet` for sizes below 0, except for -1, which is inferred."""
    least = min(sizes)
    return Unmet(
        NOT_POSITIVE,
        f"{{op}} expects sizes of at least 0, or -1 for one to infer, got {least}"
        f" in {text(sizes)}",
        has=least,
        needs=0,
        guessed=True,
    )


def _of_elements(
    name: str, input: Meta, sizes: tuple[int, ...], argument: str
) -> Unmet | None:
    """Check that the requested sizes hold all elements of the input."""
    have = prod(input.shape)
    known = prod(size for size in sizes if size != -1)
    if any(size < -1 for size in sizes):
        return _of_negative(argument, sizes)
    if sizes.count(-1) > 1:
        at = sizes.index(-1)
        fits = tuple(1 if s == -1 and n != at else s for n, s in enumerate(sizes))
        return Unmet(
            TWO_UNKNOWN_SIZES,
            f"{{op}} infers at most one size given as -1, got {sizes.count(-1)}:"
            f" {text(sizes)}",
            has=sizes.count(-1),
            needs=1,
            grants=(Grant(argument, fits),),
            guessed=True,
        )
    last = Place(name, len(input.shape) - 1) if input.shape else Place(name)
    if -1 not in sizes:
        if have == known:
            return None
        return Unmet(
            ELEMENT_COUNT_MISMATCH,
            f"{{op}} needs {known} elements for {text(sizes)}, got {have} in {{{name}}}"
            f" {text(input.shape)}",
            last,
            None,
            have,
            known,
            (Grant(name, Made(sizes, input.dtype)),),
            lines=_arithmetic(name, input.shape, sizes),
        )
    if known and have % known == 0:
        return None
    others = [size for size in sizes if size != -1]
    at = sizes.index(-1)
    kept = input.shape[at] if at < len(input.shape) else 1
    fitting = (*sizes[:at], kept, *sizes[at + 1 :])
    return Unmet(
        DOES_NOT_DIVIDE,
        f"{{op}} cannot divide {have} elements by {product(others)} for the -1 in"
        f" {text(sizes)}: {{{name}}} is {text(input.shape)}",
        last,
        None,
        have,
        known,
        (Grant(name, Made(fitting, input.dtype)),) if known else (),
        lines=(
            f"{product(input.shape)} elements in {{{name}}}",
            f"{have} / {known} = {have / known:.2f}" if known else f"{have} / 0",
        ),
    )


def _of_storage(self: Meta, sizes: tuple[int, ...]) -> Unmet | None:
    """Check that the strides of the input allow a view."""
    if -1 in sizes:
        known = prod(size for size in sizes if size != -1)
        sizes = tuple(prod(self.shape) // known if s == -1 else s for s in sizes)
    if viewable(self.shape, self.stride, sizes):
        return None
    return Unmet(
        NOT_CONTIGUOUS,
        f"{{op}} cannot lay {text(sizes)} over {{self}} {text(self.shape)}, whose"
        " elements do not lie in this order: `reshape` copies them",
        Place("self"),
        has="not contiguous",
        needs="contiguous",
        grants=(Grant("self", Made(self.shape, self.dtype)),),
    )


def viewable(shape: Sequence[int], stride: Sequence[int], sizes: Sequence[int]) -> bool:
    """Return whether a view is possible, as `computeStride` of ATen does."""
    if not prod(shape):
        return True
    left = [size for size in sizes if size != 1]
    chunks: list[int] = []
    step = 0
    for dim in reversed(range(len(shape))):
        if shape[dim] == 1:
            continue
        follows = chunks and stride[dim] == step
        if follows:
            chunks[-1] *= shape[dim]
        else:
            chunks.append(shape[dim])
        step = stride[dim] * shape[dim]
    for chunk in chunks:
        while chunk > 1:
            if not left or chunk % left[-1]:
                return False
            chunk //= left.pop()
    return not left


@needs("torch.flatten", "torch.Tensor.flatten")
def flatten(input: Meta, start_dim: int = 0, end_dim: int = -1) -> Unmet | None:
    """Check that both dims exist and that `start_dim` does not follow `end_dim`."""
    rank = max(len(input.shape), 1)
    for name, dim in (("start_dim", start_dim), ("end_dim", end_dim)):
        if not isinstance(dim, int):
            return None
        if not -rank <= dim < rank:
            fits = rank - 1 if dim > 0 else -rank
            return Unmet(
                DIM_OUT_OF_RANGE,
                f"{{op}} has no `{name}` {dim}: {{input}} {text(input.shape)} has"
                f" {dims(len(input.shape))}",
                has=dim,
                needs=fits,
                grants=(Grant(name, fits),),
            )
    if start_dim % rank > end_dim % rank:
        return Unmet(
            DIM_OUT_OF_RANGE,
            f"{{op}} needs `start_dim` before `end_dim`, got {start_dim} and {end_dim}",
            has=start_dim,
            needs=end_dim,
            grants=(Grant("start_dim", end_dim), Grant("end_dim", start_dim)),
        )
    return None


@needs("torch.unflatten", "torch.Tensor.unflatten")
def unflatten(input: Meta, dim: int, sizes: Any, *rest: Any) -> Unmet | None:
    """Check that the dim exists and that its size is the product of the sizes."""
    rank = len(input.shape)
    if isinstance(sizes, int):
        sizes = (sizes, *rest)
    if not isinstance(dim, int) or not rank or not sizes:
        return None
    if not -rank <= dim < rank:
        fits = rank - 1 if dim > 0 else -rank
        return Unmet(
            DIM_OUT_OF_RANGE,
            f"{{op}} has no dim {dim}: {{input}} {text(input.shape)} has {dims(rank)}",
            has=dim,
            needs=fits,
            grants=(Grant("dim", fits),),
            guessed=True,
        )
    if min(sizes) < -1:
        return _of_negative("sizes", sizes)
    have, known = input.shape[dim], prod(size for size in sizes if size != -1)
    unknown = list(sizes).count(-1)
    if unknown > 1 or not known or have == known or (unknown and have % known == 0):
        return None
    at = dim % rank
    wanted = known * max(have // known, 1) if unknown else known
    grant = Made((*input.shape[:at], wanted, *input.shape[at + 1 :]), input.dtype)
    total = f"{product([s for s in sizes if s != -1])}"
    return Unmet(
        DOES_NOT_DIVIDE if unknown else ELEMENT_COUNT_MISMATCH,
        f"{{op}} needs {'a multiple of ' if unknown else ''}{total} in dim {at} of"
        f" {{input}}, got {have}: {text(input.shape)}",
        Place("input", at),
        has=have,
        needs=known,
        grants=(Grant("input", grant),),
        guessed=bool(unknown),
    )


@needs("torch.Tensor.expand")
def expand(self: Meta, *size: Any) -> Unmet | None:
    """Check that only dims of size 1 are expanded; new dims come first."""
    sizes = _sizes_of(size)
    return None if sizes is None else _of_expanding("self", self, sizes, "size")


@needs("torch.broadcast_to", "torch.Tensor.broadcast_to")
def broadcast_to(input: Meta, size: Any) -> Unmet | None:
    """Check that only dims of size 1 are expanded; new dims come first."""
    sizes = _sizes_of(size)
    return None if sizes is None else _of_expanding("input", input, sizes, "size")


@needs("torch.Tensor.expand_as")
def expand_as(self: Meta, other: Meta) -> Unmet | None:
    """Check that only dims of size 1 are expanded; new dims come first."""
    return _of_expanding("self", self, other.shape, "")


def _of_expanding(
    name: str, input: Meta, sizes: tuple[int, ...], argument: str
) -> Unmet | None:
    """Check that the input broadcasts to the sizes."""
    shape = input.shape
    if len(sizes) < len(shape):
        return Unmet(
            EXPAND_MISMATCH,
            f"{{op}} needs a size for each of the {dims(len(shape))} of {{{name}}}"
            f" {text(shape)}, got {text(sizes)}",
            Place(name),
            has=len(sizes),
            needs=len(shape),
            grants=(Grant(name, Made((1,) * len(sizes), input.dtype)),)
            if -1 not in sizes
            else (),
        )
    if min(sizes, default=0) < -1:
        return _of_negative(argument, sizes)
    fitting = list(shape)
    wrong: list[int] = []
    for back in range(1, len(sizes) + 1):
        wanted = sizes[-back]
        if back > len(shape):
            if wanted < 0:
                return _of_negative(argument, sizes)
        elif wanted not in (-1, shape[-back]) and shape[-back] != 1:
            wrong.append(len(shape) - back)
            fitting[-back] = 1
    if not wrong:
        return None
    dim = wrong[0]
    return Unmet(
        EXPAND_MISMATCH,
        f"{{op}} can only expand dims of size 1: dim {dim} of {{{name}}} "
        f"{text(shape)} is"
        f" {shape[dim]}, asked for {sizes[dim - len(shape)]} in {text(sizes)}",
        Place(name, dim),
        has=shape[dim],
        needs=1,
        grants=(Grant(name, Made(tuple(fitting), input.dtype)),),
    )


@needs("torch.Tensor.repeat")
def repeat(self: Meta, *sizes: Any, repeats: Any = None) -> Unmet | None:
    """Check that each dim has a number of repeats, which is at least 0."""
    counts = _sizes_of(sizes) if repeats is None else _sizes_of((repeats,))
    if counts is not None and min(counts, default=0) < 0:
        return of_positive("sizes" if repeats is None else "repeats", counts, 0)
    if counts is None or len(counts) >= len(self.shape):
        return None
    fits = (1,) * (len(self.shape) - len(counts)) + counts
    return Unmet(
        REPEAT_COUNTS,
        f"{{op}} needs a number for each of the {dims(len(self.shape))} of {{self}}"
        f" {text(self.shape)}, got {len(counts)}: {text(counts)}",
        Place("self"),
        has=len(counts),
        needs=len(self.shape),
        grants=(Grant("sizes" if repeats is None else "repeats", fits),),
    )


@needs("torch.Tensor.sum_to_size")
def sum_to_size(self: Meta, *size: Any) -> Unmet | None:
    """Check that the shape broadcasts to that of the tensor."""
    sizes = _sizes_of(size)
    shape = self.shape
    if sizes is None:
        return None
    back = zip(sizes[::-1], shape[::-1], strict=False)
    if len(sizes) <= len(shape) and all(a in (1, b) for a, b in back):
        return None
    if min(sizes, default=0) < 0:
        return of_positive("size", sizes, 0)
    return Unmet(
        EXPAND_MISMATCH,
        f"{{op}} sums {{self}} {text(shape)} to a shape that broadcasts to it, got"
        f" {text(sizes)}",
        Place("self"),
        has=text(shape),
        needs=text(sizes),
        grants=(Grant("self", Made(sizes, self.dtype)),),
    )


@needs("torch.tile", "torch.Tensor.tile")
def tile(input: Meta, *dims: Any, **options: Any) -> Unmet | None:
    """Check that the numbers of repeats are at least 0."""
    repeats = options.get("dims")
    counts = _sizes_of(dims) if repeats is None else _sizes_of((repeats,))
    if counts is None or min(counts, default=0) >= 0:
        return None
    return Unmet(
        NOT_POSITIVE,
        f"{{op}} repeats dims at least 0 times, got {min(counts)} in {text(counts)}",
        has=min(counts),
        needs=0,
        guessed=True,
    )
