"""What one turn of a loop hands on to the next: tensors, and nests of them.

A cache of keys and values is a list of tuples, or an object that holds them; each of
its tensors, and each of its counts, is to be what it is in a whole run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch

MOST_PARTS = 256
"""Tensors and numbers of one nest that are looked at."""

DEEP = 6
"""Levels of a nest."""

More = tuple[int, int] | None
"""The dim in which a tensor grew, and by how much; None where it did not. Of a number
the dim is -1."""


@dataclass(frozen=True, slots=True)
class Part:
    """A tensor or an array by its shape, or a whole number as its value.

    `number` is the tensor's own.
    """

    sizes: tuple[int, ...]
    is_count: bool = False
    number: int = 0


class TooMany(Exception):
    """A nest has more parts than are looked at."""


def parts_of(value: Any) -> list[Part] | None:
    """The parts of a nest in order; None where there is none, or where it is large."""
    found: list[Part] = []
    try:
        for each in _leaves(value, DEEP):
            found.append(_part(each))
            if len(found) > MOST_PARTS:
                return None
    except TooMany:
        return None
    return found or None


def _part(value: Any) -> Part:
    if type(value) is int:
        return Part((value,), True)
    own = getattr(value, "_sw", None)
    return Part(tuple(value.shape), False, own.number if own is not None else 0)


def difference(old: list[Part], new: list[Part]) -> list[More] | None:
    """How each part grew; None where they are not the same parts."""
    if len(old) != len(new):
        return None
    found: list[More] = []
    for before, after in zip(old, new, strict=True):
        if len(before.sizes) != len(after.sizes) or before.is_count != after.is_count:
            return None
        grown = [d for d, size in enumerate(after.sizes) if size != before.sizes[d]]
        if not grown:
            found.append(None)
            continue
        dim = grown[0]
        more = after.sizes[dim] - before.sizes[dim]
        if len(grown) > 1 or (more < 0 and not after.is_count):
            return None
        found.append((-1 if after.is_count else dim, more))
    return found


def lengthened(value: Any, more: Iterator[More], times: int, deep: int = DEEP) -> Any:
    """A nest with each part as it is after so many turns more.

    Lists, dicts and objects are changed in place.
    """
    if type(value) is int or is_array(value):
        grown = next(more, None)
        return value if grown is None else _longer(value, *grown, times)
    if not deep:
        return value
    if type(value) is list:
        value[:] = [lengthened(each, more, times, deep - 1) for each in value]
    elif type(value) is dict:
        for key, each in value.items():
            value[key] = lengthened(each, more, times, deep - 1)
    elif isinstance(value, tuple):
        made = [lengthened(each, more, times, deep - 1) for each in value]
        own = getattr(type(value), "_make", None)
        return own(made) if own is not None else tuple(made)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            there = getattr(value, one.name, None)
            made_of = lengthened(there, more, times, deep - 1)
            if made_of is not there:
                object.__setattr__(value, one.name, made_of)
    return value


def _leaves(value: Any, deep: int) -> Iterator[Any]:
    """Tensors, arrays and whole numbers, in the order of `lengthened`."""
    inner: Any = ()
    if type(value) is int or is_array(value):
        yield value
    elif not deep:
        return
    elif type(value) is dict:
        inner = value.values()
    elif type(value) is list or isinstance(value, tuple):
        inner = value
    elif is_dataclass(value) and not isinstance(value, type):
        inner = [getattr(value, one.name, None) for one in fields(value)]
    if len(inner) > MOST_PARTS:
        raise TooMany
    for each in inner:
        yield from _leaves(each, deep - 1)


def is_array(value: Any) -> bool:
    """Whether something is a tensor, or an array of numpy's."""
    own = type(value).__module__.partition(".")[0] == "numpy"
    return isinstance(value, torch.Tensor) or (own and hasattr(value, "shape"))


def _longer(value: Any, dim: int, count: int, times: int) -> Any:
    """A tensor with its last entries of one dim again and again; a count set on."""
    if type(value) is int:
        return value + count * times
    size = value.shape[dim]
    if isinstance(value, torch.Tensor):
        last = value.narrow(dim, size - count, count)
        return torch.cat([value, *[last] * times], dim)
    import numpy

    rest = numpy.take(value, range(size - count, size), dim)
    return numpy.concatenate([value, *[rest] * times], dim)
