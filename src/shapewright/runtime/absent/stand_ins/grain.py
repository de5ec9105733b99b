"""grain: data sets whose rows are computed when they are read, and not before."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy

SOURCE = "signatures of https://google-grain.readthedocs.io, 0.2"
VERSION = "0.2.0"


class ReadOptions:
    """How many rows are read at once."""

    def __init__(self, num_threads: int = 16, prefetch_buffer_size: int = 500) -> None:
        if num_threads < 0 or prefetch_buffer_size < 0:
            raise ValueError("num_threads and prefetch_buffer_size are not negative")
        self.num_threads, self.prefetch_buffer_size = num_threads, prefetch_buffer_size


class MultiprocessingOptions(ReadOptions):
    """How many processes read."""

    def __init__(self, num_workers: int = 0, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.num_workers = num_workers


def _apply(function: Any, name: str) -> Callable[..., Any]:
    """Return the method of a transformation, or the function that it is."""
    method = getattr(function, name, None)
    return method if method is not None else function  # type: ignore[no-any-return]


class _Rows:
    """What data sets by index and those in turn have in common."""

    def _then(self, function: Callable[[Any, int], Any]) -> Any:
        """Return a data set of what a function makes of each row and its number."""
        raise NotImplementedError

    def map(self, transform: Any) -> Any:
        """Return what a function makes of each row."""
        call = _apply(transform, "map")
        return self._then(lambda row, index: call(row))

    def map_with_index(self, transform: Any) -> Any:
        """Return what a function makes of each number and row."""
        call = _apply(transform, "map_with_index")
        return self._then(lambda row, index: call(index, row))

    def random_map(self, transform: Any, *, seed: int | None = None) -> Any:
        """Return what a function makes of each row and a generator."""
        call = _apply(transform, "random_map")
        return self._then(
            lambda row, index: call(row, numpy.random.default_rng((seed or 0, index)))
        )

    def seed(self, seed: int) -> Any:
        """Return the same rows."""
        return self

    def pipe(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Return what a function makes of the data set."""
        return function(self, *args, **kwargs)


class MapDataset(_Rows):
    """Rows by index; one that a filter leaves out is None."""

    def __init__(self, length: int, read: Callable[[int], Any]) -> None:
        self._length, self._read = length, read

    @staticmethod
    def source(source: Any) -> MapDataset:
        """Return the rows of what has a length and an index."""
        return MapDataset(len(source), source.__getitem__)

    @staticmethod
    def range(start: int, stop: int | None = None, step: int = 1) -> MapDataset:
        """Return whole numbers."""
        numbers = range(start) if stop is None else range(start, stop, step)
        return MapDataset.source(numbers)

    @staticmethod
    def concatenate(datasets: Sequence[MapDataset]) -> MapDataset:
        """Return the rows of one data set after the other."""
        places = [
            (dataset, index) for dataset in datasets for index in range(len(dataset))
        ]
        return MapDataset(len(places), lambda i: places[i][0][places[i][1]])

    @staticmethod
    def mix(
        datasets: Sequence[MapDataset], weights: Sequence[float] | None = None
    ) -> MapDataset:
        """Return the rows of several data sets in turn, after their weights."""
        order = _choose_order(weights or [1.0] * len(datasets))
        length = min(len(dataset) for dataset in datasets) * len(datasets)
        turns = list(itertools.islice(order, min(length, 100_000)))
        return MapDataset(
            length, lambda i: datasets[turns[i % len(turns)]][i // len(datasets)]
        )

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            places = range(*key.indices(self._length))
            return MapDataset(len(places), lambda i: self._read(places[i]))
        return self._read(int(key) % self._length)

    slice = __getitem__

    def __iter__(self) -> Iterator[Any]:
        rows = (self[index] for index in range(self._length))
        return (row for row in rows if row is not None)

    def _then(self, function: Callable[[Any, int], Any]) -> MapDataset:
        def read(index: int) -> Any:
            row = self._read(index)
            return None if row is None else function(row, index)

        return MapDataset(self._length, read)

    def filter(self, transform: Any) -> MapDataset:
        """Return the rows of which a function is true; the others are None."""
        call = _apply(transform, "filter")
        return self._then(lambda row, index: row if call(row) else None)

    def shuffle(self, *, seed: int | None = None) -> MapDataset:
        """Return the rows in another order."""
        order = list(range(self._length))
        random.Random(seed).shuffle(order)
        return MapDataset(self._length, lambda index: self._read(order[index]))

    def repeat(self, num_epochs: int | None = None, **kwargs: Any) -> MapDataset:
        """Return the rows again and again."""
        length = 2**31 - 1 if num_epochs is None else self._length * num_epochs
        return MapDataset(length, lambda index: self._read(index % self._length))

    def batch(
        self, batch_size: int, *, drop_remainder: bool = False, batch_fn: Any = None
    ) -> MapDataset:
        """Return groups of rows."""
        length = self._length // batch_size if drop_remainder else (
            -(-self._length // batch_size)
        )  # fmt: skip

        def read(index: int) -> Any:
            stop = min((index + 1) * batch_size, self._length)
            rows = [self._read(place) for place in range(index * batch_size, stop)]
            return (batch_fn or _stack)([row for row in rows if row is not None])

        return MapDataset(length, read)

    def to_iter_dataset(self, *args: Any, **kwargs: Any) -> IterDataset:
        """Return the rows in turn."""
        return IterDataset(self)


class DatasetIterator:
    """The rows of a data set in turn, with a state that can be saved."""

    def __init__(self, rows: Iterator[Any] | None = None) -> None:
        self._rows, self._count = rows, 0

    def __iter__(self) -> DatasetIterator:
        return self

    def __next__(self) -> Any:
        assert self._rows is not None
        row = next(self._rows)
        self._count += 1
        return row

    def get_state(self) -> dict[str, Any]:
        """Return how many rows were read."""
        return {"next_index": self._count}

    def set_state(self, state: dict[str, Any]) -> None:
        """Count from there on."""
        self._count = state["next_index"]

    def start_prefetch(self) -> None:
        """Read nothing ahead."""

    def close(self) -> None:
        """End the reading."""


class IterDataset(_Rows):
    """Rows in turn."""

    def __init__(self, parents: Iterable[Any] | None = None) -> None:
        self._parents = parents

    @staticmethod
    def mix(
        datasets: Sequence[IterDataset], weights: Sequence[float] | None = None
    ) -> IterDataset:
        """Return the rows of several data sets in turn, until one has no more."""

        def mix() -> Iterator[Any]:
            rows = [iter(dataset) for dataset in datasets]
            for place in _choose_order(weights or [1.0] * len(datasets)):
                try:
                    yield next(rows[place])
                except StopIteration:
                    return

        return _Computed(mix)

    def __iter__(self) -> DatasetIterator:
        assert self._parents is not None
        return DatasetIterator(iter(self._parents))

    def _then(self, function: Callable[[Any, int], Any]) -> IterDataset:
        return _Computed(lambda: map(function, self, itertools.count()))

    def filter(self, transform: Any) -> IterDataset:
        """Return the rows of which a function is true."""
        call = _apply(transform, "filter")
        return _Computed(lambda: filter(call, self))

    def batch(
        self, batch_size: int, *, drop_remainder: bool = False, batch_fn: Any = None
    ) -> IterDataset:
        """Return groups of rows."""

        def batch() -> Iterator[Any]:
            rows = iter(self)
            while group := list(itertools.islice(rows, batch_size)):
                if len(group) == batch_size or not drop_remainder:
                    yield (batch_fn or _stack)(group)

        return _Computed(batch)

    def mp_prefetch(self, *args: Any, **kwargs: Any) -> IterDataset:
        """Return the same rows."""
        return self


class _Computed(IterDataset):
    """Rows that a function yields."""

    def __init__(self, start: Callable[[], Iterable[Any]]) -> None:
        super().__init__()
        self._start = start

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(iter(self._start()))


def _choose_order(weights: Sequence[float]) -> Iterator[int]:
    """Yield which data set comes next, so that each has its share."""
    counts = [0] * len(weights)
    while True:
        place = min(
            range(len(weights)), key=lambda i: ((counts[i] + 1) / weights[i], i)
        )
        counts[place] += 1
        yield place


def _stack(rows: list[Any]) -> Any:
    """Return rows as one: arrays of arrays, in the containers that they are in."""
    first = rows[0]
    if isinstance(first, dict):
        return {name: _stack([row[name] for row in rows]) for name in first}
    if isinstance(first, tuple | list):
        return type(first)(_stack(list(column)) for column in zip(*rows, strict=True))
    return numpy.stack([numpy.asarray(row) for row in rows])


def ThreadPrefetchIterDataset(
    ds: IterDataset, *, prefetch_buffer_size: int = 0
) -> IterDataset:
    """Return the same rows."""
    return ds


def WindowShuffleIterDataset(
    ds: IterDataset, *, window_size: int, seed: int
) -> IterDataset:
    """Return the same rows: their order changes no shape."""
    return ds


def ConcatThenSplitIterDataset(
    ds: IterDataset, *, length_struct: dict[str, int], **kwargs: Any
) -> IterDataset:
    """Return rows of a fixed length, cut from all rows in one line."""

    def pack() -> Iterator[Any]:
        names = list(length_struct)
        open_rows: dict[str, list[Any]] = {name: [] for name in names}
        segments: list[int] = []
        for number, row in enumerate(ds):
            for name in names:
                open_rows[name].extend(row[name])
            segments += [number + 1] * len(row[names[0]])
            length = length_struct[names[0]]
            while len(segments) >= length:
                yield _write_packed(open_rows, segments, length_struct)
                open_rows = {name: open_rows[name][length:] for name in names}
                segments = segments[length:]

    return _Computed(pack)


def FirstFitPackIterDataset(
    ds: IterDataset, *, length_struct: dict[str, int], padding_struct: Any = None,
    **kwargs: Any,
) -> IterDataset:  # fmt: skip
    """Return rows of a fixed length, filled with whole rows and padding."""

    def pack() -> Iterator[Any]:
        names = list(length_struct)
        length = length_struct[names[0]]
        open_rows: dict[str, list[Any]] = {name: [] for name in names}
        segments: list[int] = []

        def close() -> Any:
            more = length - len(segments)
            full = {
                name: open_rows[name] + [(padding_struct or {}).get(name, 0)] * more
                for name in names
            }
            return _write_packed(full, segments + [0] * more, length_struct)

        for row in ds:
            size = len(row[names[0]])
            if segments and len(segments) + size > length:
                yield close()
                open_rows, segments = {name: [] for name in names}, []
            for name in names:
                open_rows[name].extend(row[name])
            segments += [max(segments, default=0) + 1] * size
        if segments:
            yield close()

    return _Computed(pack)


def _write_packed(
    columns: dict[str, list[Any]], segments: list[int], lengths: dict[str, int]
) -> dict[str, Any]:
    """Return a row of columns, with which row each element is of, and its place."""
    packed = {}
    first = segments[0] if segments else 1
    for name, length in lengths.items():
        own = numpy.asarray(segments[:length])
        packed[name] = numpy.asarray(columns[name][:length])
        packed[f"{name}_segment_ids"] = numpy.where(own > 0, own - first + 1, 0)
        packed[f"{name}_positions"] = numpy.arange(length)
    return packed


_EXPERIMENTAL = {
    "ThreadPrefetchIterDataset": ThreadPrefetchIterDataset,
    "WindowShuffleIterDataset": WindowShuffleIterDataset,
    "ConcatThenSplitIterDataset": ConcatThenSplitIterDataset,
    "FirstFitPackIterDataset": FirstFitPackIterDataset,
}
_PYTHON = {
    "MapDataset": MapDataset, "IterDataset": IterDataset, "ReadOptions": ReadOptions,
    "DatasetIterator": DatasetIterator,
    "MultiprocessingOptions": MultiprocessingOptions,
}  # fmt: skip
MODULES: dict[str, dict[str, Any]] = {
    "": _PYTHON, "python": _PYTHON, "experimental": _EXPERIMENTAL,
    "python.experimental": _EXPERIMENTAL,
}  # fmt: skip
