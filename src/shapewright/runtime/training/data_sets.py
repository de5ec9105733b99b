"""Facts of the data of a training: samplers, splits, and items that are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterableDataset, Subset, WeightedRandomSampler

from shapewright.engine.replacement import replace_attribute
from shapewright.record.report import Place

if TYPE_CHECKING:
    from shapewright.runtime.training.story import Meet, ProgramRun

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


class DataFacts:
    """What a program does with its data sets, and which of them it trains on."""

    def __init__(self, run: ProgramRun, meet: Meet) -> None:
        self.run = run
        self.meet = meet
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
        if key not in self.passes:
            self.passes[key] = _Pass(batches, place)
            self._look_at_weights(batches.loader, place)

    def note_batch(self, batches: Any, place: Place, trained: int) -> None:
        """Note a batch of a pass; `trained` counts backward passes and steps so far."""
        data_pass = self.passes.get((id(batches.dataset), place))
        if data_pass is not None:
            before = self.last.get(id(batches))
            data_pass.trained += before is not None and before < trained
        self.last[id(batches)] = trained

    def _look_at_weights(self, loader: Any, place: Place) -> None:
        """Note a sampler that has more or fewer weights than there are samples."""
        sampler = loader.sampler
        if loader.batch_sampler is not None:
            sampler = getattr(loader.batch_sampler, "sampler", sampler)
        if not isinstance(sampler, WeightedRandomSampler):
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

    def look_at_splits(self) -> None:
        """Note loaders that train on a whole data set, with what another evaluates."""
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
