"""Checks of the arguments of functions that take parts of a dim, split it, or reorder
dims.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    DOES_NOT_DIVIDE,
    INDEX_OUT_OF_RANGE,
    K_TOO_LARGE,
    KERNEL_TOO_LARGE,
    MOVED_DIMS,
    PERMUTED_DIMS,
    REPEATED_DIM,
)
from shapewright.operators.dtype_needs import no_complex
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.linear_algebra.needs import of_matrices
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    of_least,
    of_no_scalar,
    of_positive,
    text,
)
from shapewright.operators.needs_registry import both, named, needs
from shapewright.operators.reduction.needs import of_dim


@needs(*named(*both("unbind")))
def unbind(input: Meta, dim: int = 0) -> Unmet | None:
    """Check that the dim exists."""
    return of_dim("input", input, dim) if input.shape else None


@needs(*named(*both("chunk")))
def chunk(input: Meta, chunks: int, dim: int = 0) -> Unmet | None:
    """Check that the dim exists and that there is at least one chunk."""
    wrong = of_dim("input", input, dim, sure=True) if input.shape else None
    return wrong or of_positive("chunks", chunks)


@needs(*named(*both("select")))
def select(input: Meta, dim: Any, index: Any) -> Unmet | None:
    """Check that the dim exists and that the index is within its size."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or type(index) is not int or not input.shape:
        return wrong
    size = input.shape[dim]
    if -size <= index < size:
        return None
    return Unmet(
        INDEX_OUT_OF_RANGE,
        f"{{op}} reads index {index} of dim {dim % len(input.shape)} of {{input}}"
        f" {text(input.shape)}, which has 0 to {size - 1}",
        Place("input", dim % len(input.shape)),
        has=size,
        needs=index + 1 if index >= 0 else -index,
        grants=(Grant("index", 0),) if size else (),
    )


@needs(*named(*both("narrow")))
def narrow(input: Meta, dim: Any, start: Any, length: Any) -> Unmet | None:
    """Check that the dim exists and that the slice is within its size."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or type(start) is not int or not input.shape:
        return wrong
    size = input.shape[dim]
    begin = start + size if start < 0 else start
    wrong = of_positive("length", length, 0)
    if wrong is not None or type(length) is not int:
        return wrong
    if start < -size:
        return Unmet(
            INDEX_OUT_OF_RANGE,
            f"{{op}} begins at {start} of dim {dim % len(input.shape)} of {{input}}"
            f" {text(input.shape)}, which has -{size} to {size - 1}",
            Place("input", dim % len(input.shape)),
            has=size,
            needs=-start,
            grants=(Grant("start", 0), Grant("length", min(length, size))),
            guessed=True,
        )
    if begin + length <= size:
        return None
    at = dim % len(input.shape)
    fitting = (*input.shape[:at], begin + length, *input.shape[at + 1 :])
    return Unmet(
        INDEX_OUT_OF_RANGE,
        f"{{op}} takes {begin} to {begin + length} of dim {at} of {{input}}"
        f" {text(input.shape)}, which ends at {size}",
        Place("input", at),
        has=size,
        needs=begin + length,
        grants=(Grant("input", Made(fitting, input.dtype)),) if start >= 0 else (),
    )


@needs(*named(*both("topk", "kthvalue")))
def topk(
    input: Meta, k: Any, dim: Any = -1, *rest: Any, **options: Any
) -> Unmet | None:
    """Check that `k` is at most the size of the dim."""
    wrong = of_dim("input", input, dim, sure=True)
    if wrong is not None or type(k) is not int:
        return wrong
    at = dim % max(len(input.shape), 1)
    size = input.shape[at] if input.shape else 1
    if k <= size:
        least = 1 if size else 0
        return of_positive("k", k, least) if k < 0 else no_complex(("input", input))
    fitting = (*input.shape[:at], k, *input.shape[at + 1 :])
    return Unmet(
        K_TOO_LARGE,
        f"{{op}} takes the {k} largest of dim {at} of {{input}} {text(input.shape)},"
        f" which has {size}",
        Place("input", at if input.shape else None),
        has=size,
        needs=k,
        grants=(Grant("input", Made(fitting or (k,), input.dtype)),),
    )


@needs(*named("torch.nn.functional.glu"))
def glu(input: Meta, dim: int = -1) -> Unmet | None:
    """Check that the size of the dim is even."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or not input.shape or input.shape[dim] % 2 == 0:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    fitting = (*input.shape[:at], size + 1, *input.shape[at + 1 :])
    return Unmet(
        DOES_NOT_DIVIDE,
        f"{{op}} halves dim {at} of {{input}} {text(input.shape)}, which is {size}",
        Place("input", at),
        has=size,
        needs=2,
        grants=(Grant("input", Made(fitting, input.dtype)),),
        guessed=True,
    )


@needs(*named(*both("tensor_split")))
def tensor_split(
    input: Meta, indices_or_sections: Any = None, dim: Any = 0, **options: Any
) -> Unmet | None:
    """Check that the dim exists and that there is at least one part."""
    wrong = of_dim("input", input, dim) if input.shape else of_least(input, 1)
    sections = options.get("sections", indices_or_sections)
    if wrong is None and type(sections) is int:
        return of_positive("indices_or_sections", sections)
    return wrong


def _splitting(word: str, least: int, along: int) -> None:
    """Register `hsplit`, `vsplit` or `dsplit`; `hsplit` splits vectors along dim 0."""

    def split(
        input: Meta, indices_or_sections: Any = None, **options: Any
    ) -> Unmet | None:
        wrong = of_least(input, least)
        parts = options.get("sections", indices_or_sections)
        if wrong is not None or type(parts) is not int:
            return wrong
        wrong = of_positive("indices_or_sections", parts)
        at = min(along, len(input.shape) - 1)
        size = input.shape[at]
        if wrong is not None or size % parts == 0:
            return wrong
        fitting = (
            *input.shape[:at],
            size - size % parts or parts,
            *input.shape[at + 1 :],
        )
        return Unmet(
            DOES_NOT_DIVIDE,
            f"{{op}} cannot divide dim {at} of {{input}} {text(input.shape)}, {size},"
            f" into {parts} equal parts: `tensor_split` makes unequal ones",
            Place("input", at),
            has=size,
            needs=parts,
            grants=(Grant("input", Made(fitting, input.dtype)),),
            guessed=True,
        )

    needs(*named(*both(word)))(split)


for _word, _least, _along in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)):
    _splitting(_word, _least, _along)


@needs("torch.Tensor.unfold")
def unfold(self: Meta, dimension: Any, size: Any, step: Any) -> Unmet | None:
    """Check that the window fits into the dim and that the step is at least 1."""
    wrong = of_dim("self", self, dimension, "dimension")
    wrong = wrong or of_positive("size", size, 0) or of_positive("step", step)
    have = (*self.shape, 1)[dimension % max(len(self.shape), 1)] if not wrong else 0
    if wrong is not None or type(size) is not int or size <= have:
        return wrong
    at = dimension % max(len(self.shape), 1)
    fitting = (*self.shape[:at], size, *self.shape[at + 1 :])
    return Unmet(
        KERNEL_TOO_LARGE,
        f"{{op}} needs room for a window of {size} in dim {at} of {{self}}"
        f" {text(self.shape)}, got {have}",
        Place("self", at if self.shape else None),
        has=have,
        needs=size,
        grants=(Grant("self", Made(fitting, self.dtype)),),
        guessed=True,
    )


@needs(*named(*both("transpose", "swapaxes", "swapdims")))
def transpose(
    input: Meta, dim0: Any = None, dim1: Any = None, **more: Any
) -> Unmet | None:
    """Check that both dims exist."""
    return of_dim("input", input, dim0, "dim0") or of_dim("input", input, dim1, "dim1")


@needs(*named("torch.Tensor.permute"))
def tensor_permute(self: Meta, *dims: Any) -> Unmet | None:
    """Check that every dim is named once."""
    order = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    return _of_order("self", self, tuple(order))


@needs(*named("torch.permute"))
def permute(input: Meta, dims: Any) -> Unmet | None:
    """Check that every dim is named once."""
    return _of_order("input", input, tuple(dims))


def _of_order(name: str, input: Meta, order: tuple[Any, ...]) -> Unmet | None:
    """Check that the order names every dim exactly once."""
    rank = len(input.shape)
    if not order:
        return None
    if len(order) == rank:
        return of_dim(name, input, order, "dims")
    if len(order) > rank:
        shape = (*(1,) * (len(order) - rank), *input.shape)
    else:
        count = 1
        for size in input.shape[len(order) - 1 :]:
            count *= size
        shape = (*input.shape[: len(order) - 1], count) if order else ()
    return Unmet(
        PERMUTED_DIMS,
        f"{{op}} needs a place for each of the {dims(rank)} of {{{name}}}"
        f" {text(input.shape)}, got {len(order)}: {order}",
        Place(name),
        has=len(order),
        needs=rank,
        grants=(Grant(name, Made(tuple(shape), input.dtype)),),
        guessed=True,
    )


@needs(*named(*both("movedim", "moveaxis")))
def movedim(input: Meta, source: Any, destination: Any) -> Unmet | None:
    """Check that the dims exist and that there are as many destinations as sources."""
    wrong = of_dim("input", input, source, "source")
    wrong = wrong or of_dim("input", input, destination, "destination")
    if wrong is not None:
        return replace(wrong, grants=()) if wrong.code == REPEATED_DIM else wrong
    sources, places = (
        [d] if type(d) is int else list(d) for d in (source, destination)
    )
    if len(sources) == len(places):
        return None
    fits = min(len(sources), len(places))
    return Unmet(
        MOVED_DIMS,
        f"{{op}} needs a place for each dim that moves, got {len(sources)} dims of"
        f" {{input}} {text(input.shape)} and {len(places)} places",
        Place("input"),
        has=len(places),
        needs=len(sources),
        grants=(Grant("source", sources[:fits]), Grant("destination", places[:fits])),
        guessed=True,
    )


@needs("torch.flip")
def flip(input: Meta, *named: Any, dims: Any = None) -> Unmet | None:
    """Check that the dims exist and do not repeat."""
    flipped = named if dims is None else dims
    listed = len(flipped) == 1 and isinstance(flipped[0], tuple | list)
    wrong = of_dim("input", input, tuple(flipped[0] if listed else flipped), "named")
    if wrong is None or not wrong.grants:
        return wrong
    value = wrong.grants[0].value
    if dims is not None:
        return replace(wrong, grants=(Grant("dims", value),))
    return replace(wrong, grants=(Grant("named", (value,)),)) if listed else wrong


@needs(*named(*both("fliplr")))
def fliplr(input: Meta) -> Unmet | None:
    """Check that dim 1 exists."""
    return of_matrices("input", input)


@needs(*named(*both("flipud")))
def flipud(input: Meta) -> Unmet | None:
    """Check that dim 0 exists."""
    return of_no_scalar(input)


@needs(*named(*both("roll")))
def roll(input: Meta, shifts: Any, dims: Any = ()) -> Unmet | None:
    """Check that the dims exist and that there is a shift for each of them."""
    wrong = of_dim("input", input, dims, "dims")
    if wrong is not None and wrong.code == DIM_OUT_OF_RANGE:
        return wrong
    shift_count, dim_count = (
        1 if type(numbers) is int else len(numbers) for numbers in (shifts, dims)
    )
    if shift_count == dim_count or (shift_count == 1 and not dim_count):
        return None
    fits = min(shift_count, dim_count) or 1
    kept = shifts if type(shifts) is int else tuple(shifts)[:fits]
    left = dims if type(dims) is int else tuple(dims)[:fits]
    return Unmet(
        MOVED_DIMS,
        f"{{op}} needs a shift for each dim, got {shift_count} for {dim_count} dims of"
        f" {{input}} {text(input.shape)}",
        Place("input"),
        has=shift_count,
        needs=dim_count,
        grants=(Grant("shifts", kept), Grant("dims", left)),
        guessed=True,
    )


@needs(*named(*both("rot90")))
def rot90(input: Meta, k: int = 1, dims: Any = (0, 1)) -> Unmet | None:
    """Check that two dims are given and that both exist."""
    wrong = of_matrices("input", input)
    if wrong is not None:
        return wrong
    plane = tuple(dims)
    if len(plane) != 2:
        return Unmet(
            MOVED_DIMS,
            f"{{op}} rotates 2 dims of {{input}} {text(input.shape)}, got {len(plane)}",
            Place("input"),
            has=len(plane),
            needs=2,
            grants=(Grant("dims", (*plane, 0, 1)[:2]),),
            guessed=True,
        )
    wrong = of_dim("input", input, plane, "dims")
    if wrong is None or wrong.code != REPEATED_DIM:
        return wrong
    rank = len(input.shape)
    other = next(d for d in range(rank) if d != plane[0] % rank)
    return replace(wrong, grants=(Grant("dims", (plane[0], other)),))
