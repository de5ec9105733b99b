"""The values that an iteration of a loop passes on to the next, and those that grow.

Skipped iterations would have lengthened them. What the last iteration added is added
once for each of them, so that the code after the loop sees the lengths of a whole run.

A cache of keys and values is a list of tuples, or an object that holds them; all its
tensors and counts get the sizes that they have in a whole run.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import torch

from shapewright.runtime.loops.counts import Counts, evaluate_condition

MOST_PARTS = 256
"""Tensors and numbers of one nest that are looked at, at most."""

DEEP = 6
"""Levels of a nest, at most."""

More = tuple[int, int] | None
"""The dim in which a tensor grew, and by how much; None if it did not. For a number the
dim is -1."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The shape of a tensor or an array, or the value of an integer.

    `number` is the tensor's own.
    """

    sizes: tuple[int, ...]
    is_count: bool = False
    number: int = 0


class _TooMany(Exception):
    """Raised if a nested structure has more than `MOST_PARTS` parts."""


def _split_nest(value: Any) -> list[_Part] | None:
    """Return the parts of a nested structure in order, or None if too many or none."""
    parts: list[_Part] = []
    try:
        for leaf in _iter_leaves(value, DEEP):
            parts.append(_make_part(leaf))
            if len(parts) > MOST_PARTS:
                return None
    except _TooMany:
        return None
    return parts or None


def _make_part(value: Any) -> _Part:
    if type(value) is int:
        return _Part((value,), True)
    own = getattr(value, "_sw", None)
    return _Part(tuple(value.shape), False, own.number if own is not None else 0)


def _compute_growth(old: list[_Part], new: list[_Part]) -> list[More] | None:
    """Return how each part grew, or None if old and new parts do not correspond."""
    if len(old) != len(new):
        return None
    growth: list[More] = []
    for before, after in zip(old, new, strict=True):
        if len(before.sizes) != len(after.sizes) or before.is_count != after.is_count:
            return None
        grown = [d for d, size in enumerate(after.sizes) if size != before.sizes[d]]
        if not grown:
            growth.append(None)
            continue
        dim = grown[0]
        more = after.sizes[dim] - before.sizes[dim]
        if len(grown) > 1 or (more < 0 and not after.is_count):
            return None
        growth.append((-1 if after.is_count else dim, more))
    return growth


def _lengthen_nest(
    value: Any, more: Iterator[More], times: int, deep: int = DEEP
) -> Any:
    """Return a nested structure with each part as it is after `times` more iterations.

    Lists, dicts and objects are changed in place.
    """
    if type(value) is int or _is_array(value):
        grown = next(more, None)
        return value if grown is None else _lengthen_part(value, *grown, times)
    if not deep:
        return value
    if type(value) is list:
        value[:] = [_lengthen_nest(item, more, times, deep - 1) for item in value]
    elif type(value) is dict:
        for key, entry in value.items():
            value[key] = _lengthen_nest(entry, more, times, deep - 1)
    elif isinstance(value, tuple):
        items = [_lengthen_nest(item, more, times, deep - 1) for item in value]
        own = getattr(type(value), "_make", None)
        return own(items) if own is not None else tuple(items)
    elif is_dataclass(value) and not isinstance(value, type):
        for data_field in fields(value):
            there = getattr(value, data_field.name, None)
            made_of = _lengthen_nest(there, more, times, deep - 1)
            if made_of is not there:
                object.__setattr__(value, data_field.name, made_of)
    return value


def _iter_leaves(value: Any, deep: int) -> Iterator[Any]:
    """Yield nested tensors, arrays and integers, in the order of `_lengthen_nest`."""
    inner: Any = ()
    if type(value) is int or _is_array(value):
        yield value
    elif not deep:
        return
    elif type(value) is dict:
        inner = value.values()
    elif type(value) is list or isinstance(value, tuple):
        inner = value
    elif is_dataclass(value) and not isinstance(value, type):
        inner = [getattr(value, data_field.name, None) for data_field in fields(value)]
    if len(inner) > MOST_PARTS:
        raise _TooMany
    for item in inner:
        yield from _iter_leaves(item, deep - 1)


def _lengthen_list(
    container: Any, items: list[Any], moving: set[tuple[int, str]]
) -> None:
    """Extend a list, with the position at which its object writes next; as far as the
    capacity of a ring buffer goes. The position is an attribute that moves along.
    """
    places = [
        (owner, name)
        for owner, name in (_iter_positions(container) if moving else ())
        if (id(owner), name) in moving
    ]
    before, last = len(container), len(container) + len(items)
    limits = [
        value
        for owner, _ in places
        for value in owner.values()
        if type(value) is int and value > before
    ]
    most = min(limits, default=last + 1)
    container.extend(items[: max(0, most - before)])
    for owner, name in places:
        owner[name] = last % most


def _iter_positions(container: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the attributes that say where an object writes into its list next: numbers
    as large as the list is long, beside it. A ring buffer appends None, and then writes
    at its position.
    """
    for holder in gc.get_referrers(container):
        owner = getattr(holder, "__dict__", holder)
        if type(owner) is dict and any(value is container for value in owner.values()):
            for name, value in list(owner.items()):
                if type(value) is int and value == len(container) and type(name) is str:
                    yield owner, name


def _has_graph(value: Any) -> bool:
    """Return whether a value is a tensor that a graph leads to, or holds such."""
    try:
        leaves = [value, *_iter_leaves(value, DEEP)]
    except _TooMany:
        return False
    kept = [getattr(leaf, "_sw", None) for leaf in leaves]
    return any(own is not None and own.grad_fn is not None for own in kept)


def _is_array(value: Any) -> bool:
    """Return whether a value is a tensor or a numpy array."""
    own = type(value).__module__.partition(".")[0] == "numpy"
    return isinstance(value, torch.Tensor) or (own and hasattr(value, "shape"))


def _lengthen_part(value: Any, dim: int, count: int, times: int) -> Any:
    """Return a tensor with the last entries of a dim repeated, or an advanced count."""
    if type(value) is int:
        return value + count * times
    size = value.shape[dim]
    if isinstance(value, torch.Tensor):
        last = value.narrow(dim, size - count, count)
        return torch.cat([value, *[last] * times], dim)
    import numpy

    rest = numpy.take(value, range(size - count, size), dim)
    return numpy.concatenate([value, *[rest] * times], dim)


MOST_ITEMS = 1_000_000
"""Items of a list that is extended to its length in a whole run, at most."""

MOST_JOINED = 100_000
"""Tensors that are concatenated to extend a tensor, at most."""

MOST_COUNTS = 64
"""Counts of objects and dicts that are advanced, at most."""

HELD_BY_US = 3
"""References to a list that nobody else holds: ours, the loop's, and the query's."""

FEW = 64
"""Lists that are kept before those are looked for that nobody else holds."""


class Lists:
    """The lists to which a program adds items while it is in a loop, by their numbers.

    Each addition is noted with the length before it, once in an iteration.
    """

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}
        self.made = 0
        self.noted: list[tuple[int, int]] = []  # a number, and a length
        self._numbers: dict[int, int] = {}  # by identity
        self._places: dict[int, int] = {}  # of the last note of a number
        self._began = 0
        self._most = FEW
        self.forgets = False  # those that nobody else holds, at once
        self.filled_later: set[int] = set()  # to which None is added, for a place

    def note_growth(self, container: Any, is_filled_later: bool = False) -> None:
        """Note an object to which the program is about to add items."""
        if type(container) is not list and (
            type(container) is not deque or container.maxlen is not None
        ):
            return
        number = self._numbers.get(id(container))
        if number is None:
            number = self._numbers[id(container)] = self.made
            self.held[number] = container
            self.made += 1
        if is_filled_later:
            self.filled_later.add(number)
        if self._places.get(number, -1) < self._began:
            self._places[number] = len(self.noted)
            self.noted.append((number, len(container)))

    def begin(self) -> int:
        """Begin an iteration: return the place of its first note."""
        if len(self.held) > self._most or self.forgets:
            self._forget_unused()
        self._began = len(self.noted)
        return self._began

    def _forget_unused(self) -> None:
        """Forget the lists that have no other references."""
        for number in [*self.held]:
            if sys.getrefcount(self.held[number]) < HELD_BY_US:
                del self._numbers[id(self.held[number])]
                del self.held[number]
                self._places.pop(number, None)
        self._most = 2 * len(self.held) + FEW


@dataclass(slots=True)
class CarriedCounts:
    """The counts in objects and dicts that a program increments.

    Each has the loops around it in the text that increment it, with the place of their
    conditions, or None if there is no condition.
    """

    held: dict[tuple[int, Any], tuple[Any, bool, dict[Any, int | None]]] = field(
        default_factory=dict
    )

    def counts(
        self, owner: Any, key: Any, item: bool, file: str, loops: tuple[Any, ...]
    ) -> None:
        """Note a count that the program is about to increment."""
        there = type(getattr(owner, "__dict__", None)) is dict
        fits = isinstance(owner, dict) if item else there
        if fits and isinstance(key, str | int) and len(self.held) < MOST_COUNTS:
            guards = {(file, line): place for line, place in loops}
            self.held[id(owner), key] = owner, item, guards

    def values(self) -> dict[tuple[int, Any], int]:
        """Return the values of the counts that are integers."""
        values = {}
        for name, (owner, item, _) in self.held.items():
            key = name[1]
            value = (owner if item else vars(owner)).get(key)
            if type(value) is int:
                values[name] = value
        return values

    def add(self, name: tuple[int, Any], more: int) -> None:
        """Advance a count by `more`."""
        owner, item, _ = self.held[name]
        if item:
            owner[name[1]] += more
        else:
            setattr(owner, name[1], getattr(owner, name[1]) + more)


class Growing:
    """The values that grow in the iterations of one loop."""

    def __init__(
        self,
        lists: Lists,
        numbers: CarriedCounts,
        counts: Counts,
        place: tuple[str, int],
    ) -> None:
        self.lists = lists
        self.numbers, self.counts, self.place = numbers, counts, place
        self.counted: dict[tuple[int, Any], int] = {}  # in the last turn
        self.values: dict[tuple[int, Any], int] = {}  # before it
        self.first_note = self.made_before = 0
        self.added: dict[int, int] = {}
        self.positions: dict[int, set[tuple[int, str]]] = {}  # after the last turn
        self.moving: dict[int, set[tuple[int, str]]] = {}  # after the last two turns
        self.with_graphs: dict[int, int] = {}  # turns in which a list got such tensors
        self.parts: dict[int, list[_Part] | None] = {}
        self.joined: dict[int, list[More]] = {}
        self.of_arrays = False  # not of numbers, and not of nests
        self.extended: set[int] = set()  # numbers of tensors that can be made longer
        self.ahead = 0

    def forget(self) -> None:
        """Forget the growth, after iterations that were not observed."""
        self.added, self.counted = {}, {}
        self.parts, self.joined = {}, {}

    def begin(self) -> None:
        """Begin an iteration: note which lists there are, and the values of counts."""
        self.first_note, self.made_before = self.lists.begin(), self.lists.made
        self.extended = set()
        self.values = self.numbers.values()

    def done(self) -> None:
        """End an iteration: note how much each list and each count grew."""
        self.added = {}
        known = set()
        for number, length in self.lists.noted[self.first_note :]:
            container = self.lists.held.get(number)
            if (
                number < self.made_before
                and container is not None
                and number not in known
            ):
                known.add(number)
                if len(container) > length:
                    self.added[number] = len(container) - length
                    if number in self.lists.filled_later:
                        self.note_positions(number, container)
        self.counted = {
            name: value - self.values[name]
            for name, value in self.numbers.values().items()
            if name in self.values
        }

    def note_positions(self, number: int, container: Any) -> None:
        """Note the attributes that were as large as a list before this turn, too."""
        now = {(id(owner), name) for owner, name in _iter_positions(container)}
        self.moving[number] = now & self.positions.get(number, set())
        self.positions[number] = now

    def keeps_graphs(self, turns: int) -> bool:
        """Return whether a list has got tensors with their graphs in so many turns."""
        for number, count in self.added.items():
            container = self.lists.held[number]
            if count and _has_graph(container[-1]):
                self.with_graphs[number] = self.with_graphs.get(number, 0) + 1
        return any(count >= turns for count in self.with_graphs.values())

    def left_out(self, turns: int) -> None:
        """Account for `turns` iterations that are skipped before the next one."""
        self.ahead = max(0, turns)
        for name, value in self.numbers.values().items() if turns > 0 else ():
            guards = self.numbers.held[name][2]
            if self.place not in guards:
                more = turns * self.counted.get(name, 0)
            else:
                guard = guards[self.place]
                more = self.counts.ahead[guard] if guard is not None else 0
            if more > 0:
                self.numbers.add(name, more)
                self.values[name] = value + more
        for number, count in self.added.items():
            container = self.lists.held.get(number)
            if turns <= 0 or container is None:
                continue
            if len(container) + turns * count <= MOST_ITEMS:
                items = list(container)[-count:] * turns
                _lengthen_list(container, items, self.moving.get(number, set()))

    def grows(self, index: int, value: Callable[[], Any]) -> bool:
        """Return whether a carried value must be lengthened now."""
        carried_value = evaluate_condition(value)
        fits = _is_array(carried_value) or not self.of_arrays
        carried = (
            evaluate_condition(lambda: _split_nest(carried_value)) if fits else None
        )
        old, self.parts[index] = self.parts.get(index), carried
        if carried is None:
            self.joined.pop(index, None)
            return False
        self.extended.update(part.number for part in carried if part.number)
        if old is not None:
            more = _compute_growth(old, carried)
            if more is None or any(more):
                self.joined[index] = more or []
        return bool(self.joined.get(index)) and 0 < self.ahead <= MOST_JOINED

    def longer(self, index: int, value: Any) -> Any:
        """Return a carried value with the length that it has in a whole run."""
        longer = _lengthen_nest(value, iter(self.joined[index]), self.ahead)
        self.parts[index] = evaluate_condition(lambda: _split_nest(longer))
        return longer
