"""Data loaders: their first and last batches, and items that do not stack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, _utils
from torch.utils.data import sampler as samplers

from shapewright.engine import nests
from shapewright.engine.call_sites import USER
from shapewright.engine.identity import Info
from shapewright.engine.replacement import replace_attribute
from shapewright.program.spans import is_installed
from shapewright.record.report import LastBatch
from shapewright.runtime.loops.items import (
    check_items,
    note_lists,
    read_each,
    read_items,
)
from shapewright.runtime.loops.iterables import LoaderPass, iter_items
from shapewright.runtime.loops.loop_calls import iter_turns
from shapewright.runtime.training.data_sets import watch_data_sets
from shapewright.runtime.training.sampler_epochs import watch_samplers
from shapewright.runtime.training.seeds import watch_seeds
from shapewright.runtime.training.story import format_file

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState, TurnRecorder
    from shapewright.runtime.training.story import Node


FEWEST = 2
"""Batches that a library's own loop gets before the last."""

TORCHS = (samplers.__name__, "torch.utils.data.distributed")
"""Modules of torch's own samplers."""

MOST_BATCHES = 1 << 18
"""Batches whose indices are listed to find the last, at most."""

MOST_LENGTHS = 4
"""Different lengths of batches that run, at most."""

KNOWN = 1 << 20
"""Elements of the largest tensor of a data set whose values are kept."""


class _Batches(LoaderPass):
    """A single pass over a loader, which fetches each batch only on request."""

    def __init__(self, stage: RehearsalState, loader: Any) -> None:
        self.stage = stage
        self.loader = loader
        self.dataset = loader.dataset
        self.at = 0
        self.born = len(stage.fetched)
        self.queue = None
        self.lengths: set[int] = set()
        self.alone = _is_asked_by_library_loop(stage)
        self.items: Iterator[Any] | None = None
        self.plan: list[Any] = []
        if isinstance(self.dataset, IterableDataset) or _is_iterable(loader):
            with self.claim_worker():
                self.items = iter(self.dataset)
        else:
            self.plan = _list_batches(loader)
            self.total = len(self.plan)
        self.place = stage.loaders.get(loader, ("", 0))
        stage.facts.data.note_pass(self, self.place)
        self.node: Node | None = None
        self.length = 0
        self.since: tuple[int, int, int] | None = None

    def __len__(self) -> int:
        return len(self.loader)

    def skip(self, turn: int | None) -> bool:
        if self.stage.full:
            return True
        if self.items is not None:
            self.stage.story.skip(
                f"the last batch of {type(self.dataset).__name__}, whose length is "
                "not known"
            )
            self.queue = []
            return False
        if turn is not None:
            self.at = max(self.at, turn)
            return self.at < len(self.plan)
        rest = range(self.at, len(self.plan))
        chosen: list[int] = []
        if self.loader.batch_sampler is not None:
            lengths = set(self.lengths)
            for index in rest[:-1]:
                length = len(self.plan[index])
                if length not in lengths and len(lengths) < MOST_LENGTHS:
                    lengths.add(length)
                    chosen.append(index)
        if self.alone:  # as many as its length says
            room = _shorten_loop(self.loader, len(self.plan)) - self.at - 1
            chosen += [index for index in rest[:-1] if index not in chosen]
            chosen = sorted(chosen[: max(0, room)])
        self.queue = [*chosen, *rest[-1:]]
        return bool(self.queue)

    def note_evaluation(self) -> None:
        """Note what became of the batch before, if nothing was trained with it: in a
        comprehension there are no turns that would say so. A library's loops are not
        the program's evaluation.
        """
        own = not is_installed(sys._getframe(2).f_code.co_filename)
        if own and self.since is not None and self.since[2] == self.stage.trained:
            self.stage.facts.modes.evaluated(self.since[0], self.since[1])
        self.since = None

    def __next__(self) -> Any:
        self.note_evaluation()
        if self.alone and self.at == FEWEST and self.queue is None:
            self.skip(None)
        if self.queue is not None and not self.stage.full:
            if not self.queue:
                raise StopIteration
            index = self.queue.pop(0)
        else:
            index = self.at
        events, began = self.stage.engine.events, len(self.stage.engine.events)
        self.stage.making += 1
        try:
            batch = self.of_items() if self.items is not None else self.of_plan(index)
        finally:
            self.stage.making -= 1
        self.at = index + 1
        self.stage.facts.data.note_batch(self, batch, self.place, self.stage.trained)
        self.stage.fetched.append(self)
        self.stage.made.append((began, len(events)))
        self.tell(batch)
        stage = self.stage
        self.since = len(stage.calls.records), len(events), stage.trained
        if self.is_short():
            self.stage.short.append((len(self.stage.made) - 1, self))
        return batch

    def is_short(self) -> bool:
        """Return whether a training loop's last batch is smaller than a full one."""
        loops, loader = self.stage.loops, self.loader
        few = loader.batch_size is not None and self.length < loader.batch_size
        again = bool(loops) and loops[-1].trains
        return few and again and self.at > 1 and not loader.drop_last

    def of_plan(self, index: int) -> Any:
        """Return the batch at an index, for a data set with indices."""
        if index >= len(self.plan):
            raise StopIteration
        picks = self.plan[index]
        with self.keep_values():
            if self.loader.batch_sampler is None:
                if isinstance(picks, list | tuple):
                    self.length = len(picks)  # a batch that the data set makes
                with self.claim_worker():
                    item = self.dataset[picks]
                return self.loader.collate_fn(item)
            self.lengths.add(len(picks))
            with self.claim_worker():
                items = self.read_items(picks)
            return self.collate_items(items, picks)

    def read_items(self, picks: list[Any]) -> Any:
        """Return the items at some indices, as torch reads them."""
        if self.loader.collate_fn is _utils.collate.default_collate:
            items = read_items(self.stage.engine, self.dataset, picks)
            if items is not None:
                return items
        many = getattr(self.dataset, "__getitems__", None)
        if many is not None:
            return many(picks)
        return read_each(self.stage.engine, self.dataset, picks)

    def of_items(self) -> Any:
        """Return the next batch, for a data set without indices."""
        assert self.items is not None
        loader = self.loader
        with self.keep_values(), self.claim_worker():
            if loader.batch_size is None:
                return loader.collate_fn(next(self.items))
            items = list(islice(self.items, loader.batch_size))
        if not items or (loader.drop_last and len(items) < loader.batch_size):
            raise StopIteration
        with self.keep_values():
            return self.collate_items(items, None)

    def collate_items(self, items: Any, picks: Any) -> Any:
        """Collate items into a batch, and report those that do not stack."""
        self.length = len(items)
        if self.loader.collate_fn is _utils.collate.default_collate:
            items = check_items(self.stage, self.dataset, items, picks)
            note_lists(self.stage, self.dataset, items[:1])
        return self.loader.collate_fn(items)

    @contextmanager
    def keep_values(self) -> Iterator[None]:
        """Keep the values of items: labels, lengths and indices can decide shapes."""
        with self.stage.engine.keep_values_up_to(KNOWN):
            yield

    @contextmanager
    def claim_worker(self) -> Iterator[None]:
        """Make `get_worker_info` return the first worker's info, if there is one."""
        loader, worker = self.loader, _utils.worker
        before = worker._worker_info
        if loader.num_workers > 0:
            worker._worker_info = worker.WorkerInfo(
                id=0, num_workers=loader.num_workers, seed=0, dataset=self.dataset
            )
            if (
                self.at == 0
                and loader.worker_init_fn is not None
                and self.queue is None
            ):
                loader.worker_init_fn(0)
        try:
            yield
        finally:
            worker._worker_info = before

    def tell(self, batch: Any) -> None:
        """Add the batch to the story."""
        story = self.stage.story
        if self.node is None:
            name = type(self.dataset).__name__
            items = _get_length(self.dataset)
            words = name if items is None else f"{name}, {items:,} items"
            self.node = story.note_event(self.stage.engine, "batches", words)
            self.node.total = self.total
        self.node.turns[self.at] = None
        self.node.shapes.setdefault(_describe_batch(self.stage, batch))
        if self.length:
            infos = map(self.stage.engine.info, nests.collect_tensors((batch,)))
            for place, info in enumerate(infos):
                self._note_samples(place, info)

    def _note_samples(self, place: int, info: Info) -> None:
        """Note a tensor whose dim 0 is as long as its batch has samples, unless that of
        another batch of the loader, at the same place, is not: it counts steps.
        """
        known = self.stage.batched_by.setdefault(id(self.loader), {})
        numbers = known.setdefault(place, set())
        if info.meta.shape and info.meta.shape[0] == self.length:
            if numbers is not None:
                numbers.add(info.number)
                self.stage.batched.add(info.number)
        elif numbers is not None:
            self.stage.batched -= numbers
            known[place] = None


def _get_length(dataset: Any) -> int | None:
    """Return the number of items in a data set, or None if it has no length."""
    try:
        return len(dataset)
    except Exception:  # the program's `__len__`
        return None


def _is_iterable(loader: Any) -> bool:
    """Return whether a loader only iterates over its data set, without indices."""
    kind = getattr(loader, "_dataset_kind", None)
    return kind is not None and kind == 1


def _list_batches(loader: Any) -> list[Any]:
    """Return the indices of each batch, from the loader's own sampler."""
    inner = loader.sampler
    batches = loader.batch_sampler if loader.batch_sampler is not None else inner
    own = [inner, batches]
    if all(type(sampler).__module__ in TORCHS for sampler in own):
        try:
            with torch._C.DisableTorchFunction():
                return list(islice(batches, MOST_BATCHES))
        except Exception:  # weights without data, for instance: then as the run sees it
            pass
    return list(islice(batches, MOST_BATCHES))


def _shorten_loop(loader: Any, total: int) -> int:
    """Return the number of batches that a library's own loop gets."""
    if isinstance(loader.dataset, IterableDataset) or _is_iterable(loader):
        return min(total, FEWEST)
    own = type(loader.batch_sampler).__module__ in TORCHS
    if loader.batch_sampler is None or own:
        return min(total, FEWEST + 1)
    return min(total, FEWEST + MOST_LENGTHS)  # whose lengths differ


def _is_asked_by_library_loop(stage: RehearsalState) -> bool:
    """Return whether a library's loop, not the program's, requests the batches."""
    frame: Any = sys._getframe(2)
    library = False
    while frame is not None:
        file = frame.f_code.co_filename
        if (
            file == iter_turns.__code__.co_filename
            and frame.f_code.co_name == iter_turns.__name__
        ):
            return False
        passes = stage.engine.sites.kind_of(frame.f_code) != USER or "tqdm" in file
        if not passes:
            if stage.owns(file):
                return library
            library = True
        frame = frame.f_back
    return True


def _is_asked_by_library(stage: RehearsalState) -> bool:
    """Return whether the nearest frame outside torch belongs to a library."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if stage.engine.sites.kind_of(frame.f_code) == USER and "tqdm" not in file:
            return not (stage.owns(file))
        frame = frame.f_back
    return False


def _describe_batch(stage: RehearsalState, batch: Any) -> str:
    """Return the tensors of a batch as text: `(32, 1, 28, 28) float32, (32,) int64`."""
    descriptions: list[str] = []

    def look(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            info: Info = stage.engine.info(value)
            sizes = ", ".join(map(str, info.meta.shape))
            comma = "," if len(info.meta.shape) == 1 else ""
            words = f"({sizes}{comma}) {info.meta.dtype}"
            descriptions.append(f"{name} {words}" if name else words)
        elif isinstance(value, dict):
            for key, part in value.items():
                look(str(key), part)
        elif isinstance(value, list | tuple):
            if value and all(isinstance(item, str) for item in value):
                descriptions.append(f"{len(value)} texts")
                return
            for part in value[:8]:
                look(name, part)
        elif hasattr(value, "__dict__") and nests.collect_tensors(
            tuple(vars(value).values())
        ):
            for key, part in vars(value).items():
                look(key, part)

    look("", batch)
    return ", ".join(descriptions) or type(batch).__name__


def iter_remainders(stage: RehearsalState, folder: str) -> Iterator[LastBatch]:
    """Yield the short last batches of loaders that the program itself constructs."""
    for turn, batches in stage.short:
        loader, batches_made = batches.loader, stage.made
        file, line = stage.loaders.get(loader, ("", 0))
        later = turn + 1 < len(batches_made)
        ended = batches_made[turn + 1][0] if later else len(stage.engine.events) + 1
        if file:
            yield LastBatch(
                format_file(file, folder), line, type(loader).__name__, batches.length,
                loader.batch_size, batches_made[turn][1], ended,
            )  # fmt: skip


def _choose_batch(
    memory: TurnRecorder, place: tuple[str, int], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Return a loader's arguments with the batch size with which it is tried."""
    size = kwargs.get("batch_size", args[1] if len(args) > 1 else None)
    if type(size) is not int:
        return args
    chosen = memory.choose_batch(place, size)
    if "batch_size" in kwargs:
        kwargs["batch_size"] = chosen
        return args
    return (args[0], chosen, *args[2:])


@contextmanager
def watch_loaders(stage: RehearsalState) -> Iterator[None]:
    """Make the batches of `for x in loader` in this process, without worker processes.

    A library gets the shortened length of a loader.
    """

    def batches(original: Any) -> Any:
        return lambda loader: _Batches(stage, loader)

    def length(original: Any) -> Any:
        def __len__(loader: Any) -> int:
            total: int = original(loader)
            if stage.full or not _is_asked_by_library(stage):
                return total
            short = _shorten_loop(loader, total)
            known = stage.shortened.get(short, 0)
            stage.shortened[short] = max(total, known)
            return short

        return __len__

    def built(original: Any) -> Any:
        @wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            place = stage.story.line(stage.engine)
            if stage.memory is not None:
                args = _choose_batch(stage.memory, place, args, kwargs)
            original(self, *args, **kwargs)
            stage.loaders[self] = place
            stage.facts.data.note_use(self.dataset)

        return __init__

    with (
        watch_data_sets(stage.facts.data),
        watch_seeds(stage.facts.seeds),
        watch_samplers(stage.facts.orders),
        replace_attribute(DataLoader, "__init__", built),
        replace_attribute(DataLoader, "__iter__", batches),
        replace_attribute(DataLoader, "__len__", length),
        _replace_iteration(),
    ):
        yield


@contextmanager
def _replace_iteration() -> Iterator[None]:
    """Give data sets without `__iter__` one within the block, which ends by their
    length.
    """
    if "__iter__" in vars(Dataset):
        yield
        return
    kind: Any = Dataset
    kind.__iter__ = iter_items
    try:
        yield
    finally:
        del kind.__iter__
