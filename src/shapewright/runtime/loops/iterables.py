"""Iterators of loops that can skip to their last item at once."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

MOST_DRAINED = 1_000_000
"""Items of an iterator that are passed over to reach the last, at most."""

END = object()

ENDLESS = (itertools.count, itertools.cycle, itertools.repeat)


class SkippableIterator:
    """An iterator that can skip to the item of a later iteration, or to the last item.

    `total` is None if it is not known.
    """

    total: int | None = None
    at = 0
    """The number of the last item that came, from 1."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def skip(self, turn: int | None) -> bool:
        """Skip to iteration `turn`, or to the last; return whether it exists."""
        raise NotImplementedError


class LoaderPass(SkippableIterator):
    """A pass over a data loader, as seen by the loops that iterate over it."""

    loader: Any
    born: int
    """Batches that were fetched before the pass began."""
    alone: bool
    """Whether a library's loop asks for the batches."""
    queue: list[int] | None
    """The indices that are left, once it skips."""
    length: int
    """Items of the last batch."""


class Items(SkippableIterator):
    """An iterator over a range or another sequence."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self.at = 0

    @property
    def total(self) -> int:  # type: ignore[override]
        return len(self.items)

    def __next__(self) -> Any:
        if self.at >= len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]

    def skip(self, turn: int | None) -> bool:
        self.at = max(self.at, len(self.items) - 1 if turn is None else turn)
        return self.at < len(self.items)


def iter_items(dataset: Any) -> Iterator[Any]:
    """Iterate over a data set that has items and no `__iter__`, to its length.

    Python asks for items until one raises `IndexError`, which is no error of the
    program; without a length it does so here, too.
    """
    try:
        len(dataset)
    except (TypeError, NotImplementedError):
        return _iter_until_end(dataset)
    return Items(dataset)


def _iter_until_end(dataset: Any) -> Iterator[Any]:
    for at in itertools.count():
        try:
            item = dataset[at]
        except IndexError:
            return
        yield item


class Counted(SkippableIterator):
    """`enumerate` of a skippable iterator, with the indices of a whole run."""

    def __init__(self, inner: SkippableIterator, start: int) -> None:
        self.inner = inner
        self.start = start

    @property
    def total(self) -> int | None:  # type: ignore[override]
        return self.inner.total

    @property
    def at(self) -> int:  # type: ignore[override]
        return self.inner.at

    def __next__(self) -> tuple[int, Any]:
        item = next(self.inner)
        return self.start + self.at - 1, item

    def skip(self, turn: int | None) -> bool:
        return self.inner.skip(turn)


class _Other(SkippableIterator):
    """Any other iterator, which is exhausted to find its last item if that is cheap."""

    def __init__(self, inner: Any, items: Iterator[Any]) -> None:
        self.inner = items
        self.plain = _is_plain(inner)
        self.kept: list[Any] = []
        self.total = self.length(inner)

    def length(self, inner: Any) -> int | None:
        """Return the number of items, or None if the iterable does not report it."""
        if isinstance(inner, ENDLESS):
            return None
        if isinstance(inner, zip):
            lengths = [operator.length_hint(part, 0) for part in _list_zipped(inner)]
            return min(lengths, default=0) or None if self.plain else None
        try:
            return len(inner)
        except Exception:  # the program's `__len__`
            return operator.length_hint(inner, 0) or None

    def __next__(self) -> Any:
        item = self.kept.pop() if self.kept else next(self.inner)
        self.at += 1
        return item

    def skip(self, turn: int | None) -> bool:
        if not self.plain:
            return False
        if turn is not None:
            return self.passes(turn)
        last = list(itertools.islice(self.inner, MOST_DRAINED))
        self.kept = last[-1:]
        self.at += max(0, len(last) - 1)
        return bool(last)

    def passes(self, turn: int) -> bool:
        """Discard the items before iteration `turn`; return whether it exists."""
        while self.at < turn:
            if not self.kept and next(self.inner, END) is END:
                return False
            self.kept = []
            self.at += 1
        if not self.kept:
            self.kept = list(itertools.islice(self.inner, 1))
        return bool(self.kept)


def _is_plain(inner: Any) -> bool:
    """Return whether an iterable yields items without running the program's code."""
    if isinstance(inner, ENDLESS):
        return False
    if type(inner).__module__.partition(".")[0] in ("tqdm", "rich"):
        return _is_plain(getattr(inner, "iterable", None))
    if isinstance(inner, zip):
        parts = _list_zipped(inner)
        return bool(parts) and all(_is_plain(part) for part in parts)
    if isinstance(inner, map | filter | enumerate):
        return False
    return type(inner).__module__ in ("builtins", "collections") and not hasattr(
        inner, "gi_frame"
    )


def _list_zipped(inner: zip[Any]) -> tuple[Any, ...]:
    """Return the iterators that a `zip` reads, or none where it does not tell."""
    try:
        reduced = inner.__reduce__()
    except Exception:  # an iterator that is no copy of anything
        return ()
    return tuple(reduced[1]) if isinstance(reduced, tuple) else ()


def make_skippable(inner: Any) -> SkippableIterator:
    """Return a skippable iterator over the iterable of a loop."""
    if isinstance(inner, SkippableIterator):
        return inner
    if type(inner) in (range, list, tuple):
        return Items(inner)
    iterator = iter(inner)
    return (
        iterator if isinstance(iterator, SkippableIterator) else _Other(inner, iterator)
    )


def count_items(enumerate_: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return `enumerate` of an iterable, skippable if the iterable is."""
    if enumerate_ is not enumerate or not args:
        return enumerate_(*args, **kwargs)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    source = make_skippable(args[0])
    if isinstance(source, _Other) and not source.plain:
        return enumerate(source.inner, start)
    return Counted(source, start)
