"""Items of a data set that do not make a batch: which, and in what they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import Stage

Leaf = tuple[str, tuple[int, ...] | None, str]
"""A field of an item by name; its shape, or None; its type."""


def check_items(stage: Stage, data: Any, items: list[Any], picks: Any) -> list[Any]:
    """The items that stack with the first; the others become a finding.

    It is one for each field of a data set: items of other batches are only counted.
    """
    if len(items) < 2:
        return items
    first = list(leaves(stage, items[0]))
    fitting = [items[0]]
    told = False
    for at, item in enumerate(items[1:], 1):
        other = list(leaves(stage, item))
        unlike = differs(first, other)
        if unlike is None:
            fitting.append(item)
        elif not told:
            told = True
            field, words = unlike
            names = [index_of(picks, place) for place in (0, at)]
            message = stage.unlike.setdefault(
                (id(data), field),
                f"items {names[0]} and {names[1]} of the data set make no batch: "
                f"{words}",
            )
            stage.engine.find(
                "items-do-not-stack",
                message,
                "stack expects each tensor to be equal size",
            )
    if told and stage.loops:
        stage.engine.replaced.add(stage.loops[-1].place)
    while told and len(fitting) < len(items):
        fitting.append(items[0])
    return fitting


def index_of(picks: Any, place: int) -> str:
    """The index of an item in its data set, else its place in the batch."""
    if picks is None:
        return f"number {place + 1}"
    return f"[{picks[place]}]"


def differs(one: list[Leaf], other: list[Leaf]) -> tuple[str, str] | None:
    """The field that keeps two items from being stacked, and how, in words."""
    if [name for name, _, _ in one] != [name for name, _, _ in other]:
        return "", f"one has {counted(one)}, the other {counted(other)}"
    for (name, mine, kind), (_, theirs, _) in zip(one, other, strict=True):
        if mine != theirs and mine is not None and theirs is not None:
            field = f"{name} " if name else ""
            return name, (
                f"{field}is {shaped(mine)} in the one and {shaped(theirs)} in the other"
            )
        if (mine is None) != (theirs is None):
            return name, f"{name} is a tensor in one of them only"
        del kind
    return None


def shaped(shape: tuple[int, ...]) -> str:
    """`(3,)`."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def counted(found: list[Leaf]) -> str:
    """`2 fields`."""
    return f"{len(found)} field{'s' * (len(found) != 1)}"


def leaves(stage: Stage, item: Any, name: str = "") -> Iterator[Leaf]:
    """The fields of an item, down to tensors, arrays and numbers."""
    if isinstance(item, torch.Tensor):
        yield name, stage.engine.info(item).meta.shape, "tensor"
    elif type(item).__module__ == "numpy":
        yield name, tuple(getattr(item, "shape", ())), "array"
    elif isinstance(item, dict):
        for key, value in item.items():
            yield from leaves(stage, value, f"{name}[{key!r}]")
    elif isinstance(item, tuple | list):
        for at, value in enumerate(item):
            yield from leaves(stage, value, f"{name}[{at}]")
    else:
        yield name, None, type(item).__name__
