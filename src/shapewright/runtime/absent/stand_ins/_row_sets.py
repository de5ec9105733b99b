"""Data sets of the package `datasets`: rows, and what makes others of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from shapewright.engine.absence import NotHere
from shapewright.runtime.absent.stand_ins._rows import OpenRow

Row = dict[str, Any]
ALIKE = 1_000
"""How many of rows that are all alike are looked at."""


class Dataset:
    """Rows in memory; each is computed when it is read."""

    def __init__(
        self, length: int, read: Callable[[int], Row], columns: list[str]
    ) -> None:
        self._length, self._read, self._columns = length, read, columns
        self._format: tuple[Any, Any] = (None, None)
        self._transform: Callable[[Any], Any] | None = None
        self.split: Any = None
        self.is_alike = False
        self.labels: dict[str, list[str]] = {}

    @classmethod
    def from_list(cls, mapping: Sequence[Row], **kwargs: Any) -> Dataset:
        """Return a data set of the rows of a list."""
        rows = list(mapping)
        return cls(len(rows), rows.__getitem__, list(rows[0]) if rows else [])

    @classmethod
    def from_dict(cls, mapping: Row, **kwargs: Any) -> Dataset:
        """Return a data set of columns."""
        length = len(next(iter(mapping.values()), ()))
        if any(len(column) != length for column in mapping.values()):
            raise ValueError("columns of a data set have one length")
        rows = [{name: mapping[name][i] for name in mapping} for i in range(length)]
        return cls.from_list(rows)

    @classmethod
    def from_generator(cls, generator: Callable[..., Any], **kwargs: Any) -> Dataset:
        """Return a data set of what a generator yields."""
        return cls.from_list(list(generator(**(kwargs.get("gen_kwargs") or {}))))

    @classmethod
    def from_pandas(cls, df: Any, **kwargs: Any) -> Dataset:
        """Return a data set of the rows of a table."""
        return cls.from_list(df.to_dict("records"))

    column_names = property(lambda self: self._columns)
    num_rows = property(lambda self: self._length)
    shape = property(lambda self: (self._length, len(self._columns)))

    @property
    def features(self) -> Any:
        """The columns, with what each holds as far as it is documented."""
        return {name: ClassLabel(names=self.labels.get(name)) for name in self._columns}

    def __len__(self) -> int:
        return self._length

    def _get(self, index: int) -> Row:
        if not -self._length <= index < self._length:
            raise IndexError(
                f"Invalid key: {index} is out of bounds for size {self._length}"
            )
        return self._read(index % self._length)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._columns:
                raise KeyError(
                    f"Column {key} not in the dataset. Current columns in the dataset:"
                    f" {self._columns}"
                )
            return [self._format_value(self._get(i)[key]) for i in range(len(self))]
        if isinstance(key, slice):
            key = range(*key.indices(self._length))
        if isinstance(key, Iterable):
            return self._finish(_join_rows([self._get(int(i)) for i in key]), True)
        return self._finish(self._get(int(key)), False)

    def __getitems__(self, keys: Sequence[int]) -> list[Any]:
        return [self[int(key)] for key in keys]

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(self._length))

    def iter(self, batch_size: int, drop_last_batch: bool = False) -> Iterator[Any]:
        """Yield batches of columns."""
        for start in range(0, self._length, batch_size):
            if start + batch_size <= self._length or not drop_last_batch:
                yield self[start : start + batch_size]

    def _finish(self, row: Row, batched: bool) -> Any:
        if self._transform is not None:
            batch = row if batched else _join_rows([row])
            derived = self._transform(batch)
            return derived if batched else {name: derived[name][0] for name in derived}
        kind, columns = self._format
        if kind is None:
            return row
        names = columns if columns is not None else list(row)
        return {name: self._format_value(row[name]) for name in names}

    def _format_value(self, value: Any) -> Any:
        """Return a value as the format says: numbers and lists become tensors."""
        kind = self._format[0]
        if kind not in ("torch", "pt", "numpy", "np") or isinstance(value, str):
            return value
        try:
            tensor = torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            return value
        return tensor if kind in ("torch", "pt") else tensor.numpy()

    def _derive(
        self, length: int, read: Callable[[int], Row], columns: list[str] | None = None
    ) -> Any:
        derived = type(self)(
            length, read, self._columns if columns is None else columns
        )
        derived._format, derived._transform = self._format, self._transform
        derived.split, derived.is_alike, derived.labels = (
            self.split,
            self.is_alike,
            self.labels,
        )
        return derived

    def map(
        self, function: Callable[..., Any] | None = None, with_indices: bool = False,
        with_rank: bool = False, input_columns: Any = None, batched: bool = False,
        batch_size: int | None = 1000, drop_last_batch: bool = False,
        remove_columns: Any = None, fn_kwargs: Row | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return the rows that a function makes of these, beside their columns."""
        removed = (
            [remove_columns] if isinstance(remove_columns, str) else remove_columns
        )
        named = [input_columns] if isinstance(input_columns, str) else input_columns

        def call(row: Any, index: Any) -> Any:
            first = [row] if named is None else [row[name] for name in named]
            places = [index] * with_indices + [0] * with_rank
            result = function(*first, *places, **(fn_kwargs or {})) if function else row
            return row if result is None else result

        def join(row: Row, result: Any) -> Row:
            kept = {k: v for k, v in dict.items(row) if not _is_in(k, removed)}
            return {**kept, **dict(dict.items(result))}

        if not batched:
            done: dict[int, Row] = {}

            def read(index: int) -> Row:
                if index not in done:
                    row = self._get(index)
                    done[index] = join(row, call(row, index))
                return done[index]

            first = read(0) if self._length else {}
            return self._derive(self._length, read, list(first))
        size = batch_size or max(self._length, 1)
        spans = [
            range(start, min(start + size, self._length))
            for start in range(0, self._length, size)
        ]
        if spans and drop_last_batch and len(spans[-1]) < size:
            spans.pop()

        def compute(span: range) -> list[Row]:
            batch = _join_rows([self._get(index) for index in span])
            result = call(batch, list(span))
            return _split_columns(join(batch, result), result)

        if self.is_alike and len(spans) > 2:  # batches of rows that are all alike
            first_rows, last_rows = compute(spans[0]), compute(spans[-1])
            full = len(first_rows) * (len(spans) - 1)

            def read_alike(index: int) -> Row:
                if index < full:
                    return first_rows[index % len(first_rows)]
                return last_rows[index - full]

            names = list(first_rows[0]) if first_rows else []
            return self._derive(full + len(last_rows), read_alike, names)
        rows = [row for span in spans for row in compute(span)]
        return self._derive(len(rows), rows.__getitem__, list(rows[0]) if rows else [])

    def filter(
        self, function: Callable[..., Any] | None = None, with_indices: bool = False,
        batched: bool = False, input_columns: Any = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return the rows of which a function is true."""
        named, kept = _list_names(input_columns), []
        seen = min(self._length, ALIKE) if self.is_alike else self._length
        for index in range(seen):
            row = self._get(index)
            row = _join_rows([row]) if batched else row
            first = [row] if named is None else [row[name] for name in named]
            places = [[index] if batched else index] * with_indices
            result: Any = function(*first, *places) if function else True
            if result[0] if batched else result:
                kept.append(index)
        if seen == self._length:
            return self.select(kept)
        length = self._length * len(kept) // seen
        return self._derive(length, lambda index: self._get(kept[index % len(kept)]))

    def select(self, indices: Iterable[int], **kwargs: Any) -> Any:
        """Return some of the rows."""
        places = indices if isinstance(indices, range) else list(indices)
        for place in _find_ends(places):
            if not -self._length <= place < self._length:
                raise IndexError(
                    f"Index {place} out of range for dataset of size {self._length}."
                )
        return self._derive(len(places), lambda index: self._get(places[index]))

    def shuffle(self, seed: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """Return the rows in another order."""
        if self.is_alike:
            return self
        places = list(range(self._length))
        random.Random(seed).shuffle(places)
        return self.select(places)

    def shard(
        self, num_shards: int, index: int, contiguous: bool = True, **_: Any
    ) -> Any:
        """Return one of several parts of the rows."""
        if not 0 <= index < num_shards:
            raise ValueError("index should be in [0, num_shards-1]")
        if not contiguous:
            return self.select(range(index, self._length, num_shards))
        size, more = divmod(self._length, num_shards)
        start = size * index + min(index, more)
        return self.select(range(start, start + size + (index < more)))

    def take(self, n: int) -> Any:
        """Return the first rows."""
        return self.select(range(min(n, self._length)))

    def skip(self, n: int) -> Any:
        """Return all but the first rows."""
        return self.select(range(min(n, self._length), self._length))

    def train_test_split(
        self, test_size: Any = None, train_size: Any = None, shuffle: bool = True,
        seed: int | None = None, **kwargs: Any,
    ) -> DatasetDict:  # fmt: skip
        """Return two parts of the rows."""
        if test_size is None and train_size is not None:
            share = train_size if isinstance(train_size, int) else (
                int(self._length * train_size)
            )  # fmt: skip
            test_size = self._length - share
        test_size = 0.25 if test_size is None else test_size
        count = test_size if isinstance(test_size, int) else -int(
            -self._length * test_size // 1
        )  # fmt: skip
        rows = self.shuffle(seed) if shuffle else self
        first = self._length - int(count)
        return DatasetDict(
            train=rows.select(range(first)),
            test=rows.select(range(first, self._length)),
        )

    def remove_columns(self, column_names: Any) -> Any:
        """Return the rows without some columns."""
        return self.map(remove_columns=column_names)

    def select_columns(self, column_names: Any) -> Any:
        """Return the rows with these columns only."""
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        return self._derive(
            self._length, lambda i: {name: self._get(i)[name] for name in names}, names
        )

    def rename_column(self, original_column_name: str, new_column_name: str) -> Any:
        """Return the rows with another name of a column."""
        return self.rename_columns({original_column_name: new_column_name})

    def rename_columns(self, column_mapping: dict[str, str]) -> Any:
        """Return the rows with other names of columns."""

        def rename(row: Row) -> Row:
            return {new: row[old] for old, new in column_mapping.items()}

        return self.map(rename, remove_columns=list(column_mapping))

    def add_column(self, name: str, column: Sequence[Any], **kwargs: Any) -> Any:
        """Return the rows with a further column."""
        return self.map(lambda row, i: {name: column[i]}, with_indices=True)

    def with_format(self, type: Any = None, columns: Any = None, **kwargs: Any) -> Any:
        """Return the same rows, whose values are tensors, say."""
        derived = self._derive(self._length, self._get)
        derived.set_format(type, columns)
        return derived

    def set_format(self, type: Any = None, columns: Any = None, **kwargs: Any) -> None:
        """Let the values be tensors, say."""
        self._format, self._transform = (type, columns), None

    def reset_format(self) -> None:
        """Let the values be what they are."""
        self._format, self._transform = (None, None), None

    def with_transform(self, transform: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the same rows, of which a function makes others when they are read."""
        derived = self._derive(self._length, self._get)
        derived._transform = transform
        return derived

    def set_transform(self, transform: Any, *args: Any, **kwargs: Any) -> None:
        """Let a function make other rows when these are read."""
        self._transform = transform

    def unique(self, column: str) -> list[Any]:
        """Return the distinct values of a column."""
        return list(dict.fromkeys(self[column]))

    def to_iterable_dataset(self, *args: Any, **kwargs: Any) -> IterableDataset:
        """Return the rows one after the other."""
        derived = IterableDataset(self._length, self._get, self._columns)
        derived.is_alike = self.is_alike
        return derived

    def _return_self(self, *args: Any, **kwargs: Any) -> Any:
        return self

    cast_column = cast = flatten_indices = class_encode_column = _return_self
    sort = with_rank = _return_self

    def save_to_disk(self, *args: Any, **kwargs: Any) -> None:
        """Write nothing."""

    push_to_hub = save_to_disk


class IterableDataset(Dataset):
    """Rows one after the other."""

    epoch = 0

    def __len__(self) -> int:
        raise TypeError("object of type 'IterableDataset' has no len()")

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __iter__(self) -> Iterator[Any]:
        rows = (self._get(index) for index in range(self._length))
        return (self._finish(row, False) for row in rows)

    def set_epoch(self, epoch: int) -> None:
        """Let the rows have another order."""
        self.epoch = epoch

    def state_dict(self) -> Row:
        """Return how far the rows were read: not at all."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state_dict: Row) -> None:
        """Read the rows from their beginning."""


class DatasetDict(dict[str, Any]):
    """Data sets by the names of their splits."""

    column_names = property(lambda self: {k: v.column_names for k, v in self.items()})
    num_rows = property(lambda self: {k: v.num_rows for k, v in self.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Dataset, name):
            raise AttributeError(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            done = {k: getattr(v, name)(*args, **kwargs) for k, v in self.items()}
            return None if name.startswith(("set_", "save_")) else DatasetDict(done)

        return call


class ClassLabel:
    """A column of classes, or another one of which nothing is known."""

    def __init__(self, num_classes: int | None = None, names: Any = None) -> None:
        self._names = names

    @property
    def names(self) -> list[str]:
        """The names of the classes."""
        if self._names is None:
            raise NotHere("the classes of a column are not known here: install "
                          "`datasets`, or say how many there are")  # fmt: skip
        return list(self._names)

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.names)


def _list_names(names: Any) -> Any:
    """Return the names of columns, of which one may be given as it is."""
    return [names] if isinstance(names, str) else names


def _find_ends(places: Sequence[int]) -> Sequence[int]:
    """Return the places that may lie outside: of a range, its ends."""
    return [*places[:1], *places[-1:]] if isinstance(places, range) else places


def _is_in(name: str, names: Any) -> bool:
    """Return whether a column is one of those removed, of which there may be none."""
    return names is not None and name in names


def _join_rows(rows: list[Row]) -> Any:
    """Return columns of rows; of open rows, those that the program names."""
    if rows and isinstance(rows[0], OpenRow):
        return _OpenBatch(rows)
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


class _OpenBatch(OpenRow):
    """Columns of unknown names."""

    def __init__(self, rows: list[Row]) -> None:
        first = rows[0]
        assert isinstance(first, OpenRow)
        super().__init__(first.number, first.question)
        self.rows = rows

    def __missing__(self, name: str) -> Any:
        value = self[name] = [row[name] for row in self.rows]
        return value


def _split_columns(columns: Row, derived: Any) -> list[Row]:
    """Return the rows of columns, as many as a function made."""
    names = list(dict.keys(derived)) or list(columns)
    length = len(columns[names[0]]) if names else 0
    for name, column in columns.items():
        if len(column) != length:
            raise ValueError(
                f"Column {name} has {len(column)} values, and {names[0]} has {length}: "
                "remove the columns that a function does not make"
            )
    return [{name: columns[name][i] for name in columns} for i in range(length)]
