"""What `x[...]` and `x[...] = value` need."""

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
from shapewright.rules.promotion import KIND

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
        if is_tensor(item) and KIND.get(item.dtype, 2) >= 2:
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
