"""Many mappings at once: what they held, and which of them hold something else now.

A model has a few mappings a module and nearly none of them changes in a run. Names and
values of all stand in two flat lists, which Python compares in one go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import is_
from typing import Any

Space = dict[Any, Any]


class Mappings:
    """What some mappings held, in order. Compared by identity, never by value."""

    __slots__ = ("names", "sizes", "spaces", "values")

    def __init__(self, spaces: Iterable[Space]) -> None:
        self.spaces = list(spaces)
        self.sizes = list(map(dict.__len__, self.spaces))
        self.names = list(chain.from_iterable(map(dict.keys, self.spaces)))
        self.values = list(chain.from_iterable(map(dict.values, self.spaces)))

    def unchanged(self) -> bool:
        """Whether all of them hold the same objects under the same names."""
        names = list(chain.from_iterable(map(dict.keys, self.spaces)))
        if len(names) != len(self.names) or not all(map(is_, names, self.names)):
            return False
        values = chain.from_iterable(map(dict.values, self.spaces))
        return all(map(is_, values, self.values))

    def changed(self) -> Iterator[tuple[Space, Space]]:
        """Those that hold something else now, each with what it held."""
        if self.unchanged():
            return
        names, values = iter(self.names), iter(self.values)
        for space, size in zip(self.spaces, self.sizes, strict=True):
            saved = dict(zip(islice(names, size), islice(values, size), strict=True))
            if not same(space, saved):
                yield space, saved


def same(now: Space, then: Space) -> bool:
    """Whether two mappings hold the same objects under the same names, in order."""
    if dict.__len__(now) != len(then):
        return False
    if not all(map(is_, dict.values(now), then.values())):
        return False
    return dict.keys(now) == then.keys()
