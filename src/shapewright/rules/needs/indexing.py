"""What `x[...]`, `gather`, `scatter` and their kin need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.broadcasting import broadcast
from shapewright.rules.needs.known import out_of_range
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import (
    dims,
    dtype_unmet,
    is_tensor,
    resized,
    text,
    word,
)
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import FLOATING

MASKS = ("bool", "uint8")


@needs("torch.Tensor.__getitem__")
def getitem(self: Meta, index: Any) -> Unmet | None:
    """As many indices as dims at most, each within its dim."""
    return of_items(self, index)


def consumed(item: Any) -> int:
    """How many dims an index stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if is_tensor(item) and item.dtype in MASKS:
        return len(item.shape)
    return 1


def of_items(self: Meta, index: Any) -> Unmet | None:
    """Each index against the dim that it reads."""
    items = index if isinstance(index, tuple) else (index,)
    names = [f"index.{n}" for n in range(len(items))]
    if not isinstance(index, tuple):
        names = ["index"]
    shape = self.shape
    for item, name in zip(items, names, strict=True):
        if is_tensor(item) and item.dtype in FLOATING:
            why = "{op} takes whole numbers or a mask of bools"
            return dtype_unmet(name, item, "int64", why)
    count = sum(map(consumed, items))
    if count > len(shape):
        return too_many(self, items, count)
    at = 0
    for n, (item, name) in enumerate(zip(items, names, strict=True)):
        if item is Ellipsis:
            at = len(shape) - sum(map(consumed, items[n + 1 :]))
            continue
        if is_tensor(item) and item.dtype not in MASKS and empty(self, items):
            wrong = None  # nothing is read
        else:
            wrong = of_item(self, item, name, at)
        if wrong is not None:
            return wrong
        at += consumed(item)
    wide = [pair for each in zip(names, items, strict=True) for pair in picked(*each)]
    wrong = broadcast(wide) if len(wide) > 1 else None
    by_name = dict(zip(names, items, strict=True))
    masks = [pair for pair in wide if by_name[pair[0]].dtype in MASKS]
    return with_masks(wrong, masks) if wrong is not None and masks else wrong


def with_masks(wrong: Unmet, masks: list[tuple[str, Meta]]) -> Unmet:
    """A mask is lined up as the places where it is true, and no other mask is made."""
    said = wrong.message
    for name, true in masks:
        shown = f"{word(name)}, true at {true.shape[0]} places"
        said = said.replace(f"{word(name)} {text(true.shape)}", shown)
    return replace(wrong, message=said, grants=())


def empty(self: Meta, items: tuple[Any, ...]) -> bool:
    """Whether what comes out has no elements."""
    at, found = 0, 0 in self.shape
    for n, item in enumerate(items):
        if item is Ellipsis:
            at = len(self.shape) - sum(map(consumed, items[n + 1 :]))
            continue
        if isinstance(item, slice) and at < len(self.shape):
            found = found or not range(*item.indices(self.shape[at]))
        at += consumed(item)
    return found


def picked(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    """The indices that an item stands for: those of a mask, as many as are true."""
    if not is_tensor(item):
        return
    if item.dtype not in MASKS:
        yield name, item
    elif getattr(item, "values", None) is not None:
        count = sum(map(bool, item.values))
        yield name, Made((count,), "int64")


def too_many(self: Meta, items: tuple[Any, ...], count: int) -> Unmet:
    """More indices than dims: what is too many is left away."""
    shape = self.shape
    made = Made((*shape, *(1,) * (count - len(shape))), self.dtype)
    shown = dims(len(shape)) if shape else "no dims"
    return Unmet(
        "too-many-indices",
        f"{{op}} gets {count} indices, but {{self}} {text(shape)} has {shown}",
        Place("self"),
        has=count,
        needs=len(shape),
        grants=(Grant("self", grown(made, items)),),
        guessed=True,
    )


def grown(made: Made, items: tuple[Any, ...]) -> Made:
    """A shape in which every whole number of an index is within range."""
    sizes = list(made.shape)
    at = 0
    for n, item in enumerate(items):
        if item is Ellipsis:
            at = len(sizes) - sum(map(consumed, items[n + 1 :]))
            continue
        if type(item) is int and at < len(sizes):
            sizes[at] = max(sizes[at], item + 1 if item >= 0 else -item)
        elif is_tensor(item) and item.dtype in MASKS:
            for d, size in enumerate(item.shape):
                sizes[at + d] = size
        at += consumed(item)
    return Made(tuple(sizes), made.dtype)


def of_item(self: Meta, item: Any, name: str, at: int) -> Unmet | None:
    """One index and the dim, or dims, that it reads."""
    shape = self.shape
    if type(item) is int:
        size = shape[at]
        if -size <= item < size:
            return None
        top = f"0 to {size - 1}" if size else "none"
        return Unmet(
            "index-out-of-range",
            f"{{op}} reads index {item} of dim {at} of {{self}} {text(shape)}, which"
            f" has {top}",
            Place("self", at),
            has=size,
            needs=item + 1 if item >= 0 else -item,
            grants=(
                Grant("self", resized(self, at, item + 1 if item >= 0 else -item)),
            ),
        )
    if is_tensor(item) and item.dtype in MASKS:
        part = shape[at : at + len(item.shape)]
        if item.shape == part:
            return None
        dim = next(
            d
            for d, pair in enumerate(zip(item.shape, part, strict=True))
            if pair[0] != pair[1]
        )
        return Unmet(
            "mask-shape",
            f"{{op}} needs a mask {text(part)} for dim {at} on of {{self}}"
            f" {text(shape)}, got {word(name)} {text(item.shape)}",
            Place(name, dim),
            Place("self", at + dim),
            item.shape[dim],
            part[dim],
            (Grant(name, Made(part, item.dtype)),),
        )
    if is_tensor(item):
        size = shape[at]
        wrong = out_of_range(
            name.replace(".", "_"), item, size, "self", at, least=-size, what="indices"
        )
        if wrong is None:
            return None
        made = Made(item.shape, item.dtype)
        return Unmet(
            wrong.code,
            wrong.message,
            Place(name),
            wrong.wanted,
            wrong.has,
            wrong.needs,
            (Grant(name, made),),
        )
    return None


def of_dim(self: Meta, name: str, dim: Any) -> Unmet | None:
    """A dim that is there."""
    rank = max(len(self.shape), 1)
    if not isinstance(dim, int) or -rank <= dim < rank:
        return None
    fits = rank - 1 if dim > 0 else -rank
    return Unmet(
        "dim-out-of-range",
        f"{{op}} has no dim {dim}: {{{name}}} {text(self.shape)} has"
        f" {dims(len(self.shape))}",
        has=dim,
        needs=fits,
        grants=(Grant("dim", fits),),
        guessed=True,
    )


def whole(name: str, index: Meta, only: tuple[str, ...] = ("int64",)) -> Unmet | None:
    """Indices are int64."""
    if index.dtype in only:
        return None
    return dtype_unmet(name, index, "int64", "{op} takes indices of int64")


@needs("torch.gather")
def gather(input: Meta, dim: Any, index: Meta, **options: Any) -> Unmet | None:
    """As many dims, and no larger than the input but along `dim`."""
    wrong = of_dim(input, "input", dim) or whole("index", index, ("int64", "int32"))
    if wrong is not None or not input.shape or 0 in index.shape:
        return wrong
    if index.shape:
        wrong = same_rank("input", input, "index", index)
        wrong = wrong or within("index", index, "input", input, dim % len(input.shape))
    at = dim % len(input.shape)
    return wrong or out_of_range(
        "index", index, input.shape[at], "input", at, "indices"
    )


def same_rank(name: str, input: Meta, other: str, index: Meta) -> Unmet | None:
    """Indices have a dim for each dim."""
    rank, have = len(input.shape), len(index.shape)
    if rank == have:
        return None
    grants: tuple[Grant, ...] = ()
    if have < rank:
        made = (*index.shape, *(1,) * (rank - have))
        made = tuple(min(a, b) for a, b in zip(made, input.shape, strict=True))
        grants = (Grant(other, Made(made, index.dtype)),)
    else:
        grants = (Grant(other, Made(input.shape, index.dtype)),)
    return Unmet(
        "wrong-rank",
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
    """No size is larger, but along one dim."""
    for d, (have, most) in enumerate(zip(index.shape, input.shape, strict=True)):
        if d != at and have > most:
            made = tuple(
                s if n == at else min(s, m)
                for n, (s, m) in enumerate(zip(index.shape, input.shape, strict=True))
            )
            return Unmet(
                "index-larger-than-source",
                f"{{op}} needs {{{small}}} no larger than {{{large}}} in dim {d}:"
                f" {have} against {most}, {text(index.shape)} against"
                f" {text(input.shape)}",
                Place(small, d),
                Place(large, d),
                have,
                most,
                (Grant(small, Made(made, index.dtype)),),
            )
    return None


@needs("torch.scatter_add", "torch.scatter", "torch.scatter_reduce")
def scatter(
    input: Meta, dim: Any, index: Meta, src: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """Indices no larger than what is written but along `dim`, nor than the source."""
    return of_scatter("input", input, dim, index, src)


@needs(
    "torch.Tensor.scatter_", "torch.Tensor.scatter_add_", "torch.Tensor.scatter_reduce_"
)
def scatter_(
    self: Meta, dim: Any, index: Meta, src: Any = None, *rest: Any, **options: Any
) -> Unmet | None:
    """The same, in place."""
    return of_scatter("self", self, dim, index, src)


def of_scatter(name: str, input: Meta, dim: Any, index: Meta, src: Any) -> Unmet | None:
    """The dims of three tensors."""
    wrong = of_dim(input, name, dim) or whole("index", index, ("int64", "int32"))
    if wrong is None and is_tensor(src) and src.dtype != input.dtype:
        why = f"{{op}} writes into {input.dtype}"
        wrong = dtype_unmet("src", src, input.dtype, why, name)
    if wrong is not None or not input.shape or 0 in index.shape:
        return wrong
    wrong = same_rank(name, input, "index", index) if index.shape else None
    at = dim % len(input.shape)
    if wrong is None and is_tensor(src):
        both = src.shape and index.shape
        wrong = same_rank("index", index, "src", src) if both else None
        if wrong is None and len(src.shape) == len(index.shape):
            wrong = within("index", index, "src", src, None)
    if index.shape:
        wrong = wrong or within("index", index, name, input, at)
    if wrong is not None:
        return wrong
    return out_of_range("index", index, input.shape[at], name, at, "indices")


@needs("torch.index_select")
def index_select(input: Meta, dim: Any, index: Meta, **options: Any) -> Unmet | None:
    """A vector of indices within the dim."""
    wrong = of_dim(input, "input", dim) or whole("index", index, ("int64", "int32"))
    wrong = wrong or vector(index)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    return out_of_range("index", index, input.shape[at], "input", at, "indices")


def vector(index: Meta) -> Unmet | None:
    """One dim of indices."""
    if len(index.shape) <= 1:
        return None
    count = 1
    for size in index.shape:
        count *= size
    return Unmet(
        "wrong-rank",
        f"{{op}} takes indices in 1 dim, got {len(index.shape)}: {{index}} is"
        f" {text(index.shape)}",
        Place("index"),
        has=len(index.shape),
        needs=1,
        grants=(Grant("index", Made((count,), index.dtype)),),
    )


@needs("torch.index_add", "torch.index_copy")
def index_add(
    input: Meta, dim: Any, index: Meta, source: Any, **options: Any
) -> Unmet | None:
    """A slice of the source for each index."""
    return of_slices("input", input, dim, index, source)


@needs("torch.Tensor.index_add_", "torch.Tensor.index_copy_")
def index_add_(
    self: Meta, dim: Any, index: Meta, source: Any, **options: Any
) -> Unmet | None:
    """The same, in place."""
    return of_slices("self", self, dim, index, source)


def of_slices(
    name: str, input: Meta, dim: Any, index: Meta, source: Any
) -> Unmet | None:
    """The source is the input, with as many slices as indices."""
    wrong = of_dim(input, name, dim) or whole("index", index, ("int64", "int32"))
    wrong = wrong or vector(index)
    if wrong is not None or not input.shape or not is_tensor(source):
        return wrong
    at = dim % len(input.shape)
    count = index.shape[0] if index.shape else 1
    wanted = (*input.shape[:at], count, *input.shape[at + 1 :])
    if source.shape != wanted:
        d = None
        if len(source.shape) == len(wanted):
            d = next(
                n
                for n, p in enumerate(zip(source.shape, wanted, strict=True))
                if p[0] != p[1]
            )
        return Unmet(
            "source-shape",
            f"{{op}} needs {{source}} as {text(wanted)}, a slice of {{{name}}}"
            f" {text(input.shape)} for each of {count} indices, got"
            f" {text(source.shape)}",
            Place("source", d),
            Place("index", 0) if d == at and index.shape else Place(name, d),
            text(source.shape) if d is None else source.shape[d],
            text(wanted) if d is None else wanted[d],
            (Grant("source", Made(wanted, source.dtype)),),
        )
    if source.dtype != input.dtype:
        why = f"{{op}} writes into {input.dtype}"
        return dtype_unmet("source", source, input.dtype, why, name)
    return out_of_range("index", index, input.shape[at], name, at, "indices")


@needs("torch.take_along_dim")
def take_along_dim(
    input: Meta, indices: Meta, dim: Any = None, **options: Any
) -> Unmet | None:
    """Indices with as many dims, that broadcast but along `dim`."""
    if dim is None:
        return whole("indices", indices)
    wrong = of_dim(input, "input", dim) or whole("indices", indices)
    wrong = wrong or same_rank("input", input, "indices", indices)
    if wrong is not None or not input.shape:
        return wrong
    at = dim % len(input.shape)
    for d, (one, two) in enumerate(zip(input.shape, indices.shape, strict=True)):
        if d != at and one != two and 1 not in (one, two):
            return Unmet(
                "broadcast-mismatch",
                f"{{op}} lines up {{input}} {text(input.shape)} and {{indices}}"
                f" {text(indices.shape)} but in dim {at}: {one} against {two} in dim"
                f" {d}",
                Place("indices", d),
                Place("input", d),
                two,
                one,
                (Grant("indices", resized(indices, d, one)),),
            )
    return None  # torch does not compare these indices with the size
