"""Needs of joining and splitting: equal sizes in other dims, parts that add up."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    JOINED_SCALARS,
    JOINED_SIZES_DIFFER,
    SPLIT_SIZES,
    STACKED_SHAPES_DIFFER,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    dims,
    is_tensor,
    of_positive,
    same_dtype,
    text,
    word,
)
from shapewright.operators.needs_registry import needs


def _listed(tensors: Any) -> list[Meta]:
    """Return the tensors of a list or tuple, or [] if it holds anything else."""
    if not isinstance(tensors, tuple | list):
        return []
    return list(tensors) if all(map(is_tensor, tensors)) else []


@needs("torch.cat")
def cat(tensors: Any, dim: Any = 0, **options: Any) -> Unmet | None:
    """Check that the tensors have equal sizes in all dims except `dim`."""
    dim = options.get("axis", dim)
    numbered = [
        (n, tensor) for n, tensor in enumerate(_listed(tensors)) if tensor.shape != (0,)
    ]
    if not numbered or not isinstance(dim, int):
        return None
    first, first_tensor = numbered[0]
    rank = len(first_tensor.shape)
    for n, tensor in numbered:
        if not tensor.shape:
            return Unmet(
                JOINED_SCALARS,
                f"{{op}} joins along a dim, {{tensors_{n}}} has none: `torch.stack`"
                " joins scalars",
                Place(f"tensors.{n}"),
                has=0,
                needs=1,
                grants=(Grant(f"tensors.{n}", Made((1,), tensor.dtype)),),
            )
    if not -rank <= dim < rank:
        return Unmet(
            DIM_OUT_OF_RANGE,
            f"{{op}} has no dim {dim}: {{tensors_{first}}} {text(first_tensor.shape)}"
            f" has {dims(rank)}",
            has=dim,
            needs=rank - 1 if dim > 0 else -rank,
            grants=(Grant("dim", rank - 1 if dim > 0 else -rank),),
            guessed=True,
        )
    at = dim % rank
    for n, tensor in numbered[1:]:
        if len(tensor.shape) != rank:
            return _ranks_differ(first, first_tensor, n, tensor, at)
        for d in range(rank):
            if d != at and tensor.shape[d] != first_tensor.shape[d]:
                return _sizes_differ(first, first_tensor, n, tensor, at, d)
    return None


def _ranks_differ(
    first: int, first_tensor: Meta, n: int, tensor: Meta, at: int
) -> Unmet:
    """Report a tensor whose number of dims differs from the first tensor's."""
    shape = tensor.shape
    if len(shape) == len(first_tensor.shape) - 1:
        fitting = (*shape[:at], 1, *shape[at:])
    else:
        fitting = tuple(
            1 if d == at else size for d, size in enumerate(first_tensor.shape)
        )
    return Unmet(
        WRONG_RANK,
        f"{{op}} joins tensors with as many dims: {{tensors_{first}}} is"
        f" {text(first_tensor.shape)}, {{tensors_{n}}} is {text(shape)}",
        Place(f"tensors.{n}"),
        Place(f"tensors.{first}"),
        len(shape),
        len(first_tensor.shape),
        (Grant(f"tensors.{n}", Made(fitting, tensor.dtype)),),
        guessed=len(shape) != len(first_tensor.shape) - 1,
    )


def _sizes_differ(
    first: int, first_tensor: Meta, n: int, tensor: Meta, at: int, d: int
) -> Unmet:
    """Report a dim, other than the concatenated one, in which the sizes differ."""
    fitting = tuple(
        size if dim == at else first_tensor.shape[dim]
        for dim, size in enumerate(tensor.shape)
    )
    return Unmet(
        JOINED_SIZES_DIFFER,
        f"{{op}} along dim {at} needs equal sizes in dim {d}: {{tensors_{first}}} is"
        f" {text(first_tensor.shape)}, {{tensors_{n}}} is {text(tensor.shape)}",
        Place(f"tensors.{n}", d),
        Place(f"tensors.{first}", d),
        tensor.shape[d],
        first_tensor.shape[d],
        (Grant(f"tensors.{n}", Made(fitting, tensor.dtype)),),
        guessed=True,
    )


@needs("torch.stack")
def stack(tensors: Any, dim: int = 0, **options: Any) -> Unmet | None:
    """Check that all tensors have the same shape, and that the new dim is in range."""
    items = _listed(tensors)
    if not items or not isinstance(dim, int):
        return None
    first_tensor = items[0]
    rank = len(first_tensor.shape) + 1
    if not -rank <= dim < rank:
        fits = rank - 1 if dim > 0 else -rank
        return Unmet(
            DIM_OUT_OF_RANGE,
            f"{{op}} has no dim {dim}: {dims(rank)} come out of {{tensors_0}}"
            f" {text(first_tensor.shape)}",
            has=dim,
            needs=fits,
            grants=(Grant("dim", fits),),
        )
    for n, tensor in enumerate(items):
        if tensor.shape != first_tensor.shape:
            d = next(
                (
                    d
                    for d, (a, b) in enumerate(
                        zip(first_tensor.shape, tensor.shape, strict=False)
                    )
                    if a != b and len(first_tensor.shape) == len(tensor.shape)
                ),
                None,
            )
            return Unmet(
                STACKED_SHAPES_DIFFER,
                f"{{op}} needs equal shapes: {{tensors_0}} is"
                f" {text(first_tensor.shape)}, {{tensors_{n}}} is {text(tensor.shape)}",
                Place(f"tensors.{n}", d),
                Place("tensors.0", d),
                text(tensor.shape),
                text(first_tensor.shape),
                (Grant(f"tensors.{n}", Made(first_tensor.shape, tensor.dtype)),),
                guessed=True,
            )
    return None


@needs("torch.hstack")
def hstack(tensors: Any, **options: Any) -> Unmet | None:
    """Check as `cat` along dim 1, or along dim 0 for vectors."""
    return _joined(tensors, 1, 1)


@needs("torch.vstack")
def vstack(tensors: Any, **options: Any) -> Unmet | None:
    """Check as `cat` along dim 0, with vectors as rows."""
    return _joined(tensors, 0, 2)


def _joined(tensors: Any, dim: int, least: int) -> Unmet | None:
    """Check as `cat` after giving each tensor at least `least` dims."""
    items = _listed(tensors)
    if not items:
        return None
    raised = [Made((1,) * (least - len(e.shape)) + e.shape, e.dtype) for e in items]
    at = dim if len(raised[0].shape) > dim else 0
    wrong = cat(raised, at)
    if wrong is None or wrong.code == DIM_OUT_OF_RANGE:
        return None
    return _lowered(wrong, raised, items)


def _lowered(wrong: Unmet | None, raised: Any, items: Any) -> Unmet | None:
    """Return the report with the original shapes of tensors that got more dims."""
    if wrong is None:
        return None
    message = wrong.message
    for n, (padded, original) in enumerate(zip(raised, items, strict=True)):
        if padded.shape != original.shape:
            name, shown = f"{{tensors_{n}}} is ", text(padded.shape)
            message = message.replace(
                name + shown, f"{name}{text(original.shape)}, here {shown}"
            )
            wrong = replace(wrong, got=None, wanted=None)
    return replace(wrong, message=message)


@needs("torch.functional.split", "torch.split", "torch.Tensor.split")
def split(
    tensor: Meta, split_size_or_sections: Any = None, dim: int = 0, **more: Any
) -> Unmet | None:
    """Check that the parts add up to the size of the dim."""
    parts = more.get("split_size", split_size_or_sections)
    rank = len(tensor.shape)
    if not isinstance(dim, int) or not rank:
        return None
    if not -rank <= dim < rank:
        fits = rank - 1 if dim > 0 else -rank
        return Unmet(
            DIM_OUT_OF_RANGE,
            f"{{op}} has no dim {dim}: {{tensor}} {text(tensor.shape)} has"
            f" {dims(rank)}",
            has=dim,
            needs=fits,
            grants=(Grant("dim", fits),),
            guessed=True,
        )
    wrong = of_positive("split_size_or_sections", parts, 0)
    if wrong is None and parts == 0:
        wrong = of_positive("split_size_or_sections", parts)
    if wrong is not None:
        return replace(wrong, grants=())
    if not isinstance(parts, tuple | list) or not all(type(p) is int for p in parts):
        return None
    size, total, at = tensor.shape[dim], sum(parts), dim % rank
    if size == total or min(parts, default=0) < 0:
        return None
    fitting = Made((*tensor.shape[:at], total, *tensor.shape[at + 1 :]), tensor.dtype)
    return Unmet(
        SPLIT_SIZES,
        f"{{op}} needs parts that add up to {size}, dim {at} of {{tensor}}"
        f" {text(tensor.shape)}, got {' + '.join(map(str, parts))} = {total}",
        Place("tensor", at),
        has=size,
        needs=total,
        grants=(Grant("tensor", fitting),),
    )


@needs("torch.dstack")
def dstack(tensors: Any, **options: Any) -> Unmet | None:
    """Check as `cat` along dim 2, with dims of size 1 added to smaller tensors."""
    items = _listed(tensors)
    if not items:
        return None
    raised = [Made((1,) * (2 - len(e.shape)) + e.shape, e.dtype) for e in items]
    deep = [Made((*e.shape, 1), e.dtype) if len(e.shape) < 3 else e for e in raised]
    return _lowered(cat(deep, 2), deep, items)


@needs("torch.column_stack")
def column_stack(tensors: Any, **options: Any) -> Unmet | None:
    """Check as `cat` along dim 1, with vectors as columns."""
    items = _listed(tensors)
    if not items:
        return None
    raised = [
        Made((*e.shape, *(1,) * (2 - len(e.shape))), e.dtype)
        if len(e.shape) < 2
        else Made(e.shape, e.dtype)
        for e in items
    ]
    return _lowered(cat(raised, 1), raised, items)


@needs("torch.functional.block_diag", "torch.block_diag")
def block_diag(*tensors: Any) -> Unmet | None:
    """Check that all tensors have at most 2 dims."""
    return _of_ranks(tensors, 2)


@needs("torch.functional.meshgrid", "torch.meshgrid")
def meshgrid(*tensors: Any, **options: Any) -> Unmet | None:
    """Check that all tensors are vectors of one dtype."""
    listed_ = len(tensors) == 1 and isinstance(tensors[0], tuple | list)
    items = tensors[0] if listed_ else tensors
    names = [f"tensors.{'0.' if listed_ else ''}{n}" for n in range(len(items))]
    wrong = _of_ranks(items, 1, names)
    return wrong or same_dtype(*zip(names, items, strict=True))


def _of_ranks(tensors: Any, most: int, names: list[str] | None = None) -> Unmet | None:
    """Check that no tensor has more than `most` dims."""
    for n, tensor in enumerate(tensors):
        rank = len(tensor.shape)
        if rank <= most:
            continue
        name = names[n] if names is not None else f"tensors.{n}"
        fitting = (
            prod(tensor.shape[: rank - most + 1]),
            *tensor.shape[rank - most + 1 :],
        )
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects at most {dims(most)} of each, got {rank}: {word(name)} is"
            f" {text(tensor.shape)}",
            Place(name),
            has=rank,
            needs=most,
            grants=(Grant(name, Made(fitting, tensor.dtype)),),
            guessed=True,
        )
    return None
