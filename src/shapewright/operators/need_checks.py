"""Checks and wording shared by the needs of many operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    DTYPE_MISMATCH,
    INDEX_LARGER_THAN_SOURCE,
    INDEX_OUT_OF_RANGE,
    KERNEL_TOO_LARGE,
    NOT_POSITIVE,
    WINDOW_NUMBERS,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.promotion_and_broadcasting import FLOATING, KIND

Shape = tuple[int, ...]


def text(shape: Sequence[int]) -> str:
    """Format a shape: `(8, 256)`."""
    sizes = ", ".join(map(str, shape))
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"


def word(name: str) -> str:
    """Format an argument's name for a message: `{tensors_1}` for `tensors.1`."""
    return f"{{{name.replace('.', '_')}}}"


def product(shape: Sequence[int]) -> str:
    """Format a product of sizes, `8·16·4·4 = 2048`, or a single size."""
    shown = "·".join(map(str, shape))
    return f"{shown} = {prod(shape)}" if len(shape) > 1 else str(prod(shape))


def dims(count: int) -> str:
    """Format a number of dims: `1 dim`, `3 dims`."""
    return "1 dim" if count == 1 else f"{count} dims"


def differs(shape: Sequence[int], other_shape: Sequence[int]) -> int | None:
    """Return the first dim in which two shapes differ, or None if the ranks do."""
    if len(shape) != len(other_shape):
        return None
    return next((d for d in range(len(shape)) if shape[d] != other_shape[d]), None)


def is_tensor(value: Any) -> bool:
    """Return whether an argument is a tensor in the form that rules receive."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def is_square_at_end(shape: Shape, at: int) -> bool:
    """Return whether the last two dims are a square map, and dim `at` before them is of
    another size: the channels of this map, not its height.
    """
    return len(shape) - at > 2 and shape[-1] == shape[-2] != shape[at]


def resized(meta: Meta, dim: int, size: int) -> Made:
    """Return the tensor with the size of dim `dim` changed."""
    shape = list(meta.shape)
    shape[dim] = size
    return Made(tuple(shape), meta.dtype)


def turned(meta: Meta, order: Sequence[int]) -> Made:
    """Return the tensor with its dims permuted to `order`."""
    shape, stride = meta.shape, meta.stride
    return Made(
        tuple(shape[d] for d in order), meta.dtype, tuple(stride[d] for d in order)
    )


def swapped(meta: Meta, dim: int, other_dim: int) -> Made:
    """Return the tensor with two dims swapped."""
    order = list(range(len(meta.shape)))
    order[dim], order[other_dim] = order[other_dim], order[dim]
    return turned(meta, order)


def with_dim(meta: Meta, dim: int) -> Made:
    """Return the tensor with a dim of size 1 inserted at `dim`."""
    shape = meta.shape
    return Made((*shape[:dim], 1, *shape[dim:]), meta.dtype)


def cast(meta: Meta, dtype: str) -> Made:
    """Return the tensor with another dtype."""
    return Made(meta.shape, dtype, meta.stride)


def dtype_unmet(
    name: str, meta: Meta, wanted: str, why: str, reference: str = ""
) -> Unmet:
    """Report a tensor with a dtype that the call does not accept."""
    return Unmet(
        DTYPE_MISMATCH,
        f"{why}, but {word(name)} is {meta.dtype}",
        Place(name),
        Place(reference) if reference else None,
        meta.dtype,
        wanted,
        (Grant(name, cast(meta, wanted)),),
    )


def same_dtype(*named: tuple[str, Meta | None]) -> Unmet | None:
    """Check that all have the dtype of the last complex, else float, else tensor."""
    tensors = [(name, meta) for name, meta in named if meta is not None]
    if not tensors:
        return None
    floats = [pair for pair in tensors if pair[1].dtype in FLOATING]
    complexes = [pair for pair in tensors if KIND.get(pair[1].dtype) == 3]
    reference = (complexes or floats or tensors)[-1]
    for name, meta in tensors:
        if meta.dtype != reference[1].dtype:
            return dtype_unmet(
                name,
                meta,
                reference[1].dtype,
                f"{{op}} expects inputs of one dtype: {word(reference[0])} is "
                f"{reference[1].dtype}",
                reference[0],
            )
    return None


def lined_up(named: Sequence[tuple[str, Shape]]) -> tuple[str, ...]:
    """Return the shapes aligned at the right, with marks under sizes that do not match.

    Example: ``lined_up([("x", (8, 3, 32)), ("y", (8, 1))])`` is the lines
    ``8  3  32   {x}`` and ``8   1   {y}`` below each other, and ``^`` below 3 and 8.
    """
    rank = max(len(shape) for _, shape in named)
    rows = [("",) * (rank - len(s)) + tuple(map(str, s)) for _, s in named]
    widths = [max(len(row[at]) for row in rows) for at in range(rank)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        + f"   {word(name)}"
        for row, (name, _) in zip(rows, named, strict=True)
    ]
    marks = []
    for at, width in enumerate(widths):
        sizes = {int(row[at]) for row in rows if row[at]} - {1}
        marks.append(("^" * width if len(sizes) > 1 else "").rjust(width))
    below = "  ".join(marks).rstrip()
    return (*lines, below) if below else tuple(lines)


def _place_in(shape: Sequence[int], flat: int) -> str:
    """Return the index of a row-major position, like `[3, 5]`, or "" for a scalar."""
    places: list[int] = []
    for size in reversed(shape):
        places.append(flat % size)
        flat //= size
    return f"[{', '.join(map(str, reversed(places)))}]" if places else ""


def out_of_range(
    name: str,
    index: Meta,
    count: int,
    table: str,
    dim: int,
    what: str = "rows",
    allowed: frozenset[int] | set[int] = frozenset(),
    least: int = 0,
) -> Unmet | None:
    """Check that all indices, if their values are known, are within range."""
    values: tuple[int, ...] | None = getattr(index, "values", None)
    if values is None:
        return None
    for at, value in enumerate(values):
        if not least <= value < count and value not in allowed:
            place = _place_in(index.shape, at)
            where = f"{{{name}}} at {place}" if place else f"{{{name}}}"
            top = f"0 to {count - 1}" if count else "none"
            return Unmet(
                INDEX_OUT_OF_RANGE,
                f"{{op}} reads {what} {top} of {{{table}}}, but {where} is {value}",
                Place(name),
                Place(table, dim),
                value,
                count,
                (Grant(name, Made(index.shape, index.dtype, index.stride)),),
                lines=_list_range(name, values, count) if what == "classes" else (),
                most=max(values),
                least=min(set(values) - allowed),
            )
    return None


def _list_range(name: str, values: tuple[int, ...], count: int) -> tuple[str, ...]:
    """Return the line that labels are 1 to the number of classes, where they are."""
    least, most = min(values), max(values)
    if least != 1 or most != count:
        return ()
    return (f"{{{name}}} holds {least} to {most}: no label is 0",)


AXES = ("depth", "height", "width")


def each(value: Any, count: int) -> tuple[int, ...]:
    """Return a single number repeated for each dim: 3 becomes (3, 3) for images."""
    if isinstance(value, int):
        return (value,) * count
    sizes = tuple(value)
    return sizes * count if len(sizes) == 1 else sizes


def axis(at: int, spatial: int) -> str:
    """Return the name of a dim: `height` for the first of two dims."""
    return "length" if spatial == 1 else AXES[at - spatial]


def too_large(
    input: Meta, kernel: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Unmet | None:
    """Check that the kernel is not larger than the padded input."""
    spatial = len(kernel)
    first = len(input.shape) - spatial
    shape = list(input.shape)
    oversized: list[tuple[int, str, str]] = []
    for at, (width, pad, reach) in enumerate(
        zip(kernel, padding, dilation, strict=True)
    ):
        size = input.shape[first + at]
        want, have = reach * (width - 1) + 1, size + 2 * pad
        if have < want:
            needs = f"{want}"
            if reach > 1:
                needs = f"{reach}·({width} - 1) + 1 = {want}"
            has = f"{size}" if not pad else f"{size} + 2·{pad} = {have}"
            oversized.append((first + at, needs, f"{has} in {axis(at, spatial)}"))
            shape[first + at] = max(want - 2 * pad, 1)
    if not oversized:
        return None
    dim, needs, has = oversized[0]
    return Unmet(
        KERNEL_TOO_LARGE,
        f"{{op}} needs room for a kernel of {needs}, got {has}",
        Place("input", dim),
        has=input.shape[dim],
        needs=shape[dim],
        grants=(Grant("input", Made(tuple(shape), input.dtype)),),
        guessed=True,
    )


def of_positive(argument: str, value: Any, least: int = 1) -> Unmet | None:
    """Check that sizes, strides or factors are at least `least`."""
    numbers = tuple(value) if isinstance(value, tuple | list) else (value,)
    if (
        not all(type(number) is int for number in numbers)
        or min(numbers, default=1) >= least
    ):
        return None
    fits: Any = tuple(max(number, least) for number in numbers)
    return Unmet(
        NOT_POSITIVE,
        f"{{op}} expects at least {least} as `{argument}`, got {min(numbers)}",
        has=min(numbers),
        needs=least,
        grants=(Grant(argument, fits if len(numbers) > 1 else fits[0]),),
        guessed=True,
    )


def of_settings(spatial: int, **settings: Any) -> Unmet | None:
    """Check that each setting has 1 or `spatial` numbers, none of them too small."""
    for argument, value in settings.items():
        if isinstance(value, tuple | list) and len(value) not in (1, spatial):
            fits = (*value[:spatial], *(value[-1:] or (1,)) * (spatial - len(value)))
            return Unmet(
                WINDOW_NUMBERS,
                f"{{op}} expects one number as `{argument}`, or {spatial}, got"
                f" {len(value)}: {tuple(value)}",
                has=len(value),
                needs=spatial,
                grants=(Grant(argument, fits),),
                guessed=True,
            )
        wrong = of_positive(argument, value, 0 if "padding" in argument else 1)
        if wrong is not None:
            return wrong
    return None


def of_rank(
    name: str, input: Meta, least: int, most: int, what: str = ""
) -> Unmet | None:
    """Check for `least` to `most` dims, or suggest leading 1s or merged dims."""
    shape = input.shape
    rank = len(shape)
    if least <= rank <= most:
        return None
    expected = dims(most) if least == most else f"{least} to {most} dims"
    fitting: tuple[int, ...] = (*(1,) * (least - rank), *shape)
    if rank > most:
        count = 1
        for size in shape[: rank - most + 1]:
            count *= size
        fitting = (count, *shape[rank - most + 1 :])
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects {expected}{what}, got {rank}: {word(name)} is {text(shape)}",
        Place(name),
        has=rank,
        needs=least if rank < least else most,
        grants=(Grant(name, Made(fitting, input.dtype)),),
        guessed=True,
    )


LAYOUT = {1: "length", 2: "height, width", 3: "depth, height, width"}


def of_spatial_rank(
    input: Meta, spatial: int, front: tuple[int, ...] | None = (1,)
) -> Unmet | None:
    """Check that there are channels and `spatial` dims, with or without a batch dim.

    To spatial dims alone `front` is granted, if it is not None.
    """
    rank = len(input.shape)
    if rank in (spatial + 1, spatial + 2):
        return None
    grants: tuple[Grant, ...] = ()
    if rank == spatial and front is not None:
        grants = (Grant("input", Made((*front, *input.shape), input.dtype)),)
    elif rank == spatial + 3:
        first, second, *rest = input.shape
        grants = (Grant("input", Made((first * second, *rest), input.dtype)),)
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects {dims(spatial + 2)} (batch, channels, {LAYOUT[spatial]}), got"
        f" {rank}: {{input}} is {text(input.shape)}",
        Place("input"),
        has=rank,
        needs=spatial + 2,
        grants=grants,
        guessed=rank > spatial,
    )


def of_least(input: Meta, least: int, what: str = "") -> Unmet | None:
    """Check that the input has at least `least` dims, or suggest leading 1s."""
    rank = len(input.shape)
    if rank >= least:
        return None
    fitting = (*(1,) * (least - rank), *input.shape)
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects at least {dims(least)}{what}, got {rank}: {{input}} is"
        f" {text(input.shape)}",
        Place("input"),
        has=rank,
        needs=least,
        grants=(Grant("input", Made(fitting, input.dtype)),),
        guessed=True,
    )


def of_no_scalar(input: Meta, size: int = 1) -> Unmet | None:
    """Check that the input has a dim, or suggest an input of `size` elements."""
    if input.shape:
        return None
    return Unmet(
        WRONG_RANK,
        "{op} expects at least 1 dim of {input}, got a scalar",
        Place("input"),
        has=0,
        needs=1,
        grants=(Grant("input", Made((size,), input.dtype)),),
    )


def of_dim(self: Meta, name: str, dim: Any) -> Unmet | None:
    """Check that the dim exists."""
    rank = max(len(self.shape), 1)
    if not isinstance(dim, int) or -rank <= dim < rank:
        return None
    fits = rank - 1 if dim > 0 else -rank
    return Unmet(
        DIM_OUT_OF_RANGE,
        f"{{op}} has no dim {dim}: {{{name}}} {text(self.shape)} has"
        f" {dims(len(self.shape))}",
        has=dim,
        needs=fits,
        grants=(Grant("dim", fits),),
        guessed=True,
    )


def whole(name: str, index: Meta, only: tuple[str, ...] = ("int64",)) -> Unmet | None:
    """Check that the indices have one of the dtypes in `only`."""
    if index.dtype in only:
        return None
    return dtype_unmet(name, index, "int64", "{op} expects indices of dtype int64")


def same_rank(name: str, input: Meta, other: str, index: Meta) -> Unmet | None:
    """Check that the indices have as many dims as the input."""
    rank, have = len(input.shape), len(index.shape)
    if rank == have:
        return None
    grants: tuple[Grant, ...] = ()
    if have < rank:
        fitting = (*index.shape, *(1,) * (rank - have))
        fitting = tuple(min(a, b) for a, b in zip(fitting, input.shape, strict=True))
        grants = (Grant(other, Made(fitting, index.dtype)),)
    else:
        grants = (Grant(other, Made(input.shape, index.dtype)),)
    return Unmet(
        WRONG_RANK,
        f"{{op}} needs as many dims in {{{other}}} as in {{{name}}}:"
        f" {text(index.shape)} against {text(input.shape)}",
        Place(other),
        Place(name),
        have,
        rank,
        grants,
    )


def within(
    small: str, index: Meta, large: str, input: Meta, at: int | None
) -> Unmet | None:
    """Check that no size of `index` exceeds that of `input`, except in dim `at`."""
    for d, (have, most) in enumerate(zip(index.shape, input.shape, strict=True)):
        if d != at and have > most:
            fitting = tuple(
                s if n == at else min(s, m)
                for n, (s, m) in enumerate(zip(index.shape, input.shape, strict=True))
            )
            return Unmet(
                INDEX_LARGER_THAN_SOURCE,
                f"{{op}} needs {{{small}}} no larger than {{{large}}} in dim {d}:"
                f" {have} against {most}, {text(index.shape)} against"
                f" {text(input.shape)}",
                Place(small, d),
                Place(large, d),
                have,
                most,
                (Grant(small, Made(fitting, index.dtype)),),
            )
    return None


def vector(index: Meta, name: str = "index", what: str = "indices") -> Unmet | None:
    """Check that the index has at most 1 dim."""
    if len(index.shape) <= 1:
        return None
    count = 1
    for size in index.shape:
        count *= size
    return Unmet(
        WRONG_RANK,
        f"{{op}} expects {what} in 1 dim, got {len(index.shape)}: {{{name}}} is"
        f" {text(index.shape)}",
        Place(name),
        has=len(index.shape),
        needs=1,
        grants=(Grant(name, Made((count,), index.dtype)),),
    )
