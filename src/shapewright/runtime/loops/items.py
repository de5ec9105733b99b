"""Items of a batch: how they are read, and whether they stack.

Of a `TensorDataset` one item stands for all where no value is known. Of a data set
that makes many calls for an item, those of the first items are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, Subset, TensorDataset

from shapewright.engine.engine import Engine
from shapewright.findings.codes import ITEMS_DO_NOT_STACK
from shapewright.record.report import ListField
from shapewright.runtime.training.story import format_file

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState

FEWEST = 16
"""Items of a batch from which on one is read for all."""


RECORDED_CALLS = 300
"""Calls of the items of a batch from which on no further item's are recorded."""


def read_items(engine: Engine, dataset: Any, picks: list[Any]) -> list[Any] | None:
    """Return the items at the indices of a batch; None if the data set must read them.

    Items of a tensor without data are alike, so the first stands for the others. Those
    of a tensor whose values are known, as labels, are read one by one.
    """
    if len(picks) < FEWEST:
        return None
    try:
        while type(dataset) is Subset:
            picks = [dataset.indices[pick] for pick in picks]
            dataset = dataset.dataset
        if type(dataset) is not TensorDataset or not dataset.tensors:
            return None
        length = len(dataset.tensors[0])
        if any(type(pick) is not int or not 0 <= pick < length for pick in picks):
            return None
    except (TypeError, IndexError, AttributeError):  # the data set is to say so
        return None
    columns = [_read_column(engine, tensor, picks) for tensor in dataset.tensors]
    return list(zip(*columns, strict=True))


def _read_column(engine: Engine, tensor: torch.Tensor, picks: list[int]) -> list[Any]:
    if type(tensor) is not torch.Tensor or engine.info(tensor).storage.known:
        return [tensor[pick] for pick in picks]
    return [tensor[picks[0]]] * len(picks)


def read_each(engine: Engine, dataset: Any, picks: list[Any]) -> list[Any]:
    """Return the items at some indices, read one by one. The calls for the last of many
    are not recorded: a hundred for each item would be most of a run's.
    """
    items: list[Any] = []
    began = len(engine.events)
    for pick in picks:
        if len(engine.events) - began < RECORDED_CALLS:
            items.append(dataset[pick])
        else:
            items.append(_read_unrecorded(engine, dataset, pick))
    return items


def _read_unrecorded(engine: Engine, dataset: Any, pick: Any) -> Any:
    """Return an item; it is read again, with calls recorded, if one of them fails."""
    began, failures = len(engine.events), engine.failures
    failed = len(failures or ())
    error: Exception | None = None
    try:
        with engine.pass_calls():
            item = dataset[pick]
        if len(engine.events) == began:
            return item
    except Exception as raised:  # of the program
        error = raised
    del engine.events[began:]
    if failures:
        del failures[failed:]
    item = dataset[pick]
    if error is not None:
        engine.raise_theirs(error)  # it depends on what was drawn
    return item


OF_TENSORS = "stack expects each tensor to be equal size"
OF_LISTS = "each element in list of batch should be of equal size"
"""What torch says of tensors and of lists that do not stack."""
Leaf = tuple[str, tuple[int, ...] | None, str]
"""A field of an item by name; its shape, or None; its type."""


def check_items(
    stage: RehearsalState, data: Any, items: list[Any], picks: Any
) -> list[Any]:
    """Return the items that stack with the first one; report the others as a finding.

    There is only one finding per field of a data set: items of later batches are
    counted.
    """
    if len(items) < 2:
        return items
    start = next((at for at, item in enumerate(items) if item is not None), 0)
    first = list(_iter_fields(stage, items[start]))
    fitting = [items[start]]
    is_told = False
    for at, item in enumerate(items):
        if at == start:
            continue
        other = list(_iter_fields(stage, item))
        unlike = _find_unlike_list(items[start], item) or _find_difference(first, other)
        if unlike is None:
            fitting.append(item)
        elif not is_told:
            is_told = True
            field, words = unlike
            names = [_find_index(picks, place) for place in (start, at)]
            what = f"items {names[0]} and {names[1]} of the data set cannot be collated"
            what += f" into a batch: {words}"
            if item is None:
                what = f"item {names[1]} of the data set is None: it cannot be collated"
                what += " into a batch"
            message = stage.unlike.setdefault((id(data), field), what)
            stage.engine.find(
                ITEMS_DO_NOT_STACK,
                message,
                OF_LISTS if " holds " in words else OF_TENSORS,
            )
    if is_told and stage.loops:
        stage.engine.replaced.add(stage.loops[-1].place)
    while is_told and len(fitting) < len(items):
        fitting.append(items[start])
    return fitting


def _find_index(picks: Any, place: int) -> str:
    """Return the index of an item in its data set, or its place in the batch."""
    if picks is None:
        return f"number {place + 1}"
    return f"[{picks[place]}]"


def _find_unlike_list(
    first: Any, second: Any, name: str = ""
) -> tuple[str, str] | None:
    """Return the field of two items that holds lists of several lengths, and that in
    words.
    """
    if type(first) is not type(second) or not isinstance(first, dict | tuple | list):
        return None
    if isinstance(first, dict):
        for key in first.keys() & second.keys():
            unlike = _find_unlike_list(first[key], second[key], f"{name}[{key!r}]")
            if unlike is not None:
                return unlike
        return None
    if len(first) == len(second):
        for at, (mine, theirs) in enumerate(zip(first, second, strict=True)):
            unlike = _find_unlike_list(mine, theirs, f"{name}[{at}]")
            if unlike is not None:
                return unlike
        return None
    if not name or not first or not second:
        return None
    kinds = {type(value) for value in (*first, *second)}
    what = "texts" if kinds == {str} else "entries"
    what = "numbers" if kinds <= {int, float} else what
    return (
        name,
        f"{name} holds {len(first)} {what} in one and {len(second)} in the other",
    )


def _find_difference(first: list[Leaf], second: list[Leaf]) -> tuple[str, str] | None:
    """Return the field that prevents two items from stacking, and the reason."""
    if [name for name, _, _ in first] != [name for name, _, _ in second]:
        return "", f"one has {_format_count(first)}, the other {_format_count(second)}"
    for (name, mine, kind), (_, theirs, _) in zip(first, second, strict=True):
        if mine != theirs and mine is not None and theirs is not None:
            field = f"{name} " if name else ""
            return name, (
                f"{field}is {format_shape(mine)} in one and {format_shape(theirs)} in "
                "the other"
            )
        if (mine is None) != (theirs is None):
            return name, f"{name} is a tensor in only one of them"
        del kind
    return None


def format_shape(shape: tuple[int, ...]) -> str:
    """Return a shape as text, like `(3,)`."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(map(str, shape))})"


def _format_count(leaves: list[Leaf]) -> str:
    """Return the number of fields as text, like `2 fields`."""
    return f"{len(leaves)} field{'s' * (len(leaves) != 1)}"


def _iter_fields(stage: RehearsalState, item: Any, name: str = "") -> Iterator[Leaf]:
    """Yield the fields of an item: its tensors, arrays and numbers."""
    if isinstance(item, torch.Tensor):
        yield name, stage.engine.info(item).meta.shape, "tensor"
    elif type(item).__module__ == "numpy":
        yield name, tuple(getattr(item, "shape", ())), "array"
    elif isinstance(item, dict):
        for key, value in item.items():
            yield from _iter_fields(stage, value, f"{name}[{key!r}]")
    elif isinstance(item, tuple | list):
        for at, value in enumerate(item):
            yield from _iter_fields(stage, value, f"{name}[{at}]")
    else:
        yield name, None, type(item).__name__


def note_lists(stage: RehearsalState, data: Any, items: list[Any]) -> None:
    """Note the fields of an item that are lists of numbers."""
    while isinstance(getattr(data, "dataset", None), Dataset):
        data = data.dataset  # of a subset
    code = getattr(type(data).__getitem__, "__code__", None)
    if code is None or not stage.owns(code.co_filename):
        return
    file = format_file(code.co_filename, stage.story.folder)
    for item in items:
        for keys, length in _iter_lists(item):
            name = type(data).__name__
            field = ListField(file, code.co_firstlineno, name, keys, length)
            stage.listed.setdefault(field)


def _iter_lists(
    value: Any, keys: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Yield the lists of numbers in an item by their keys, with their lengths."""
    if isinstance(value, list) and len(value) > 1:
        if all(type(item) in (int, float) for item in value):
            yield keys, len(value)
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from _iter_lists(item, (*keys, at))
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _iter_lists(item, (*keys, key))
