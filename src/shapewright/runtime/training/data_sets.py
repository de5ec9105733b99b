"""Facts of the data of a training: samplers, splits, and items that are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import (
    IterableDataset,
    RandomSampler,
    Subset,
    WeightedRandomSampler,
)

from shapewright.engine.function_names import get_plain_name
from shapewright.engine.memo import INPLACE
from shapewright.engine.replacement import replace_attribute
from shapewright.operators.facts import operators_with
from shapewright.record.report import Place
from shapewright.runtime.training.label_orders import (
    SeenLabels,
    describe_numbered_classes,
    describe_sorted_labels,
    is_in_order,
)
from shapewright.runtime.training.story import get_site_line

if TYPE_CHECKING:
    from shapewright.runtime.training.sampler_epochs import SamplerEpochs
    from shapewright.runtime.training.story import Meet, ProgramRun

ITEMS = frozenset({"__getitem__", "__getitems__"})
CHANGES = operators_with("is_arithmetic") | {"truediv"}
"""Calls whose result depends on what a tensor held before, without `_` or `__i`."""
FILLS = operators_with("writes_by_index", "fills_by_mask") | {"__setitem__"}
"""Calls that write one number: again to other elements, if these are drawn."""
DRAWS = operators_with("is_random")
COLLECTIONS = (list, tuple, dict, set, frozenset, str, bytes, range, torch.Tensor)
DEEPEST = 3
"""Data sets within data sets that are looked into."""


class _Part:
    """A part of a data set, where it was made, and whether anything reads it."""

    def __init__(self, subset: Any, place: Place, number: int) -> None:
        self.subset = subset
        self.whole = id(subset.dataset)
        self.size = len(subset.indices)
        self.place = place
        self.number = number  # of the parts that its line makes
        self.is_used = False


class _Pass:
    """The passes over a loader, and how many of their batches were trained on."""

    def __init__(self, batches: Any, place: Place) -> None:
        self.dataset = batches.dataset
        self.place = place
        self.plan = batches.plan  # the indices of each batch
        self.trained = 0
        self.labels = SeenLabels()
        self.is_in_order = is_in_order(batches.loader)


class DataFacts:
    """What a program does with its data sets, and which of them it trains on."""

    def __init__(self, run: ProgramRun, meet: Meet, orders: SamplerEpochs) -> None:
        self.run = run
        self.meet = meet
        self.orders = orders
        self.parts: list[_Part] = []
        self.passes: dict[tuple[int, Place], _Pass] = {}
        self.last: dict[int, int] = {}  # steps before the last batch of a pass

    def note_part(self, subset: Any) -> None:
        """Note that a `Subset` was made."""
        place = self.run.here()
        self.note_use(subset.dataset)
        number = sum(
            part.place == place and part.whole == id(subset.dataset)
            for part in self.parts
        )
        self.parts.append(_Part(subset, place, number))

    def note_use(self, dataset: Any, depth: int = 0) -> None:
        """Note that a loader, or another data set, reads a data set."""
        for part in self.parts:
            if part.subset is dataset:
                part.is_used = True
        if depth < DEEPEST:
            values = list(getattr(dataset, "__dict__", {}).values())
            for value in values:
                group = value if isinstance(value, list | tuple) else [value]
                for held in group[:8]:
                    if isinstance(held, torch.utils.data.Dataset):
                        self.note_use(held, depth + 1)

    def note_pass(self, batches: Any, place: Place) -> None:
        """Note that a pass over a loader begins."""
        key = id(batches.dataset), place
        self.last.pop(id(batches), None)  # of a pass that is no more
        self._note_order(batches.loader, place)
        self.orders.note_pass(batches)
        if key not in self.passes:
            self.passes[key] = _Pass(batches, place)
            self._look_at_weights(batches.loader, place)
            self._look_at_workers(batches.loader, place)
            words = describe_numbered_classes(batches.loader.dataset)
            if words is not None:
                self.meet("numbered-classes", place, None, words)

    def note_batch(self, batches: Any, batch: Any, place: Place, trained: int) -> None:
        """Note a batch of a pass; `trained` counts backward passes and steps so far."""
        data_pass = self.passes.get((id(batches.dataset), place))
        if data_pass is not None:
            data_pass.labels.add(self.run.engine, batch, batches.length)
            before = self.last.get(id(batches))
            if before is not None and before < trained:
                data_pass.trained += 1
                self.orders.note_training(batches)
                if data_pass.trained == 1:
                    self._look_at_labels(batches, place)
        self.last[id(batches)] = trained

    def _look_at_weights(self, loader: Any, place: Place) -> None:
        """Note a sampler that has more or fewer weights than there are samples."""
        sampler = loader.sampler
        if loader.batch_sampler is not None:
            sampler = getattr(loader.batch_sampler, "sampler", sampler)
        if not isinstance(sampler, WeightedRandomSampler) or not place[0]:
            return
        if isinstance(loader.dataset, IterableDataset):
            return
        weights: Any = sampler.weights
        info = self.run.engine.info(weights)
        if len(info.meta.shape) != 1 or info.unsure is not None:
            return
        try:
            size = len(loader.dataset)
        except Exception:  # the program's `__len__`
            return
        count = info.meta.shape[0]
        if count != size and size > 0:
            name = f"{type(loader.dataset).__name__} {count} {size}"
            self.meet("sampler-weights", place, None, name)

    def _look_at_labels(self, batches: Any, place: Place) -> None:
        """Note a training that reads one class after the other."""
        words = describe_sorted_labels(self.run.engine, batches) if place[0] else None
        if words is not None:
            self.meet("sorted-labels", place, None, words)

    def _look_at_workers(self, loader: Any, place: Place) -> None:
        """Note a stream that several workers read, with nothing that divides it."""
        stream, workers = loader.dataset, loader.num_workers
        if workers < 2 or loader.worker_init_fn is not None or not place[0]:
            return
        if not isinstance(stream, IterableDataset):
            return
        held = getattr(stream, "__dict__", {}).values()
        if any(_is_source(value) for value in held):
            return  # which may divide itself
        name = f"{type(stream).__name__} {workers}"
        self.meet("stream-of-workers", place, None, name)

    def _note_order(self, loader: Any, place: Place) -> None:
        """Note a pass over a loader that puts its samples in a random order."""
        here = self.run.here()
        samplers = [loader.sampler, getattr(loader, "batch_sampler", None)]
        samplers += [getattr(sampler, "sampler", None) for sampler in samplers]
        if any(isinstance(part, RandomSampler) for part in samplers) and here[0]:
            self.meet("shuffled", here, place, type(loader.dataset).__name__)

    def look_at_items(self, batches: list[tuple[int, int]], passes: list[Any]) -> None:
        """Note data sets that write in place to what they store and return.

        `batches` are the events of each batch, `passes` the passes that it is of. A
        worker process writes to a copy, unless it stays for the next epoch.
        """
        events, seen, read = self.run.engine.events, set[int](), 0
        if not any(
            answer.kind == INPLACE
            for items in batches
            for answer, *_ in events[slice(*items)]
        ):
            return
        for items, data_pass in zip(batches, passes, strict=False):
            for _, ins, outs, *_ in events[read : items[0]]:
                seen.update(info.storage.number for info in (*ins, *outs))
            read = items[0]
            loader = data_pass.loader
            if loader.num_workers > 0 and not loader.persistent_workers:
                continue
            for site in _find_written_items(events, items, seen):
                place = get_site_line(site[0])
                if place is not None:
                    self.meet("item-written", place)

    def look_at_splits(self) -> None:
        """Note loaders that train on a whole data set, with what another evaluates."""
        self._look_at_classes()
        trained = [data for data in self.passes.values() if data.trained]
        read = {
            id(data.dataset): data for data in self.passes.values() if not data.trained
        }
        for data in trained:
            parts = [part for part in self.parts if part.whole == id(data.dataset)]
            for held in parts:
                if id(held.subset) not in read:
                    continue
                indices = {
                    index for batch in data.plan for index in _list_indices(batch)
                }
                common = len(indices & set(_list_indices(held.subset.indices)))
                for part in parts:
                    unused = not part.is_used and part.size >= held.size
                    if unused and common:
                        name = f"{part.number} {common} {held.size}"
                        self.meet("whole-set", data.place, part.place, name)

    def _look_at_classes(self) -> None:
        """Note trainings of one class after the other, and evaluations of other classes
        than were trained.
        """
        passes = list(self.passes.values())
        trained = [data for data in passes if data.trained and data.place[0]]
        for data in trained:
            words = data.labels.describe_order() if data.is_in_order else None
            if words is not None:
                self.meet("sorted-batches", data.place, None, words)
        others = [data for data in passes if not data.trained and data.place[0]]
        if len(trained) != 1 or len({id(data.dataset) for data in others}) != 1:
            return
        (whole,), part = trained, others[0]
        is_part = part.dataset is not whole.dataset
        is_part |= len(others) == 1 and _has_other_samples(part, whole)
        if is_part and part.labels.lacks(whole.labels):
            classes = ",".join(map(str, sorted(part.labels.classes)))
            self.meet("other-classes", part.place, whole.place, classes)


def _has_other_samples(part: _Pass, whole: _Pass) -> bool:
    """Return whether two samplers pick other samples of one data set."""
    first, second = (
        {index for batch in data.plan for index in _list_indices(batch)}
        for data in (part, whole)
    )
    return bool(first and second) and not first & second


def _find_written_items(
    events: list[Any], items: tuple[int, int], seen: set[int]
) -> Iterator[Any]:
    """Yield the sites at which the items of a batch are written into stored data.

    `items` are the events of the batch, `seen` the storages that were there before.
    """
    writes: dict[int, Any] = {}  # by the storage that holds what was written
    collated: dict[Any, set[int]] = {}  # storages that one line behind the items writes
    drawn: set[int] = set()  # tensors that follow from random numbers
    for answer, ins, outs, site, _ in events[slice(*items)]:
        inside = any(code.co_name in ITEMS for code, _ in site)
        held = [info.storage.number for info in ins]
        origin = next((writes[number] for number in held if number in writes), None)
        name = "" if isinstance(answer.func, str) else get_plain_name(answer.func)
        by_chance = any(info.number in drawn for info in ins[1:])
        if name in DRAWS or any(info.number in drawn for info in ins):
            drawn.update(info.number for info in outs)
        is_change = name.strip("_").removeprefix("i") in CHANGES
        is_change |= by_chance and name in FILLS
        writes_stored = (
            answer.kind == INPLACE
            and bool(outs or ins)
            and (outs or ins)[0].storage.number in seen
        )
        number = (outs or ins)[0].storage.number if outs or ins else -1
        if not inside:
            if writes_stored and is_change and site:
                same = collated.setdefault(site[0], set())
                same.add(number)
                if len(same) > 1:  # a sample each, and no running statistic
                    writes.setdefault(number, site)
            elif origin is not None:  # collated: what was written is what is returned
                yield origin
            continue
        if writes_stored:
            if is_change:
                writes.setdefault(number, site)
        elif origin is not None:
            for out in outs:
                writes.setdefault(out.storage.number, origin)


def _is_source(value: Any) -> bool:
    """Return whether a stream may read from an object that is no plain collection."""
    is_array = type(value).__module__ == "numpy"
    has_items = hasattr(type(value), "__iter__")
    return has_items and not (isinstance(value, COLLECTIONS) or is_array)


def _list_indices(indices: Any) -> list[int]:
    """Return indices as a list: a batch of one index, or those of a tensor."""
    if isinstance(indices, torch.Tensor):
        return []
    return [indices] if isinstance(indices, int) else list(indices)


@contextmanager
def watch_data_sets(facts: DataFacts) -> Iterator[None]:
    """Note the parts of data sets that are made in the block."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            facts.note_part(self)

        return __init__

    with replace_attribute(Subset, "__init__", make):
        yield
