"""What grows with each turn of a loop: lists, and tensors that are joined to.

Turns that are left out would have made them longer; what the last turn added is added
for each of them, so that what follows the loop has the lengths of a whole run.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from shapewright.capture.rehearsal.counts import evaluated

MOST_ITEMS = 1_000_000
"""Items of a list that is made as long as in a whole run."""

MOST_JOINED = 100_000
"""Tensors that are joined for it."""

HELD_BY_US = 3
"""References to a list that nobody else holds: ours, the loop's, and the question's."""


class Lists:
    """The lists to which a program adds, while it is in a loop."""

    def __init__(self) -> None:
        self.held: dict[int, Any] = {}

    def grew(self, found: Any) -> None:
        """A program is about to add to something."""
        if type(found) is list or (type(found) is deque and found.maxlen is None):
            self.held[id(found)] = found

    def lengths(self) -> dict[int, int]:
        """How long each is."""
        return {key: len(each) for key, each in self.held.items()}

    def forget(self, known: dict[int, int]) -> None:
        """Let those go that came after some others, and that nobody holds."""
        for key in [key for key in self.held if key not in known]:
            if sys.getrefcount(self.held[key]) < HELD_BY_US:
                del self.held[key]


class Growing:
    """What grows in the turns of one loop."""

    def __init__(self, lists: Lists) -> None:
        self.lists = lists
        self.before: dict[int, int] = {}
        self.added: dict[int, int] = {}
        self.sizes: dict[int, tuple[int, ...]] = {}
        self.joined: dict[int, tuple[int, int]] = {}
        self.ahead = 0

    def begin(self) -> None:
        """A turn begins."""
        self.before = self.lists.lengths()

    def done(self) -> None:
        """It ended."""
        before = self.before
        self.added = {
            key: len(each) - before[key]
            for key, each in self.lists.held.items()
            if key in before and len(each) > before[key]
        }
        self.lists.forget(before)

    def left_out(self, turns: int) -> None:
        """So many turns are left out before the one that begins."""
        self.ahead = max(0, turns)
        for key, count in self.added.items():
            found = self.lists.held.get(key)
            if turns > 0 and found is not None:
                if len(found) + turns * count <= MOST_ITEMS:
                    found.extend(list(found)[-count:] * turns)
                self.before[key] = len(found)

    def grows(self, index: int, value: Callable[[], Any]) -> bool:
        """Whether what is joined to in every turn is to be longer now."""
        sizes = evaluated(lambda: tuple(value().shape))
        if sizes is None:
            return False
        old, self.sizes[index] = self.sizes.get(index), sizes
        if old is not None and len(old) == len(sizes):
            grown = [d for d, size in enumerate(sizes) if size > old[d]]
            if len(grown) == 1:
                self.joined[index] = grown[0], sizes[grown[0]] - old[grown[0]]
        return index in self.joined and 0 < self.ahead <= MOST_JOINED

    def longer(self, index: int, value: Any) -> Any:
        """The same, as long as in a whole run."""
        made = joined(value, *self.joined[index], self.ahead)
        self.sizes[index] = tuple(made.shape)
        return made


def joined(value: Any, dim: int, count: int, times: int) -> Any:
    """A tensor with its last entries of one dim once more, and again."""
    size = value.shape[dim]
    if isinstance(value, torch.Tensor):
        last = value.narrow(dim, size - count, count)
        return torch.cat([value, *[last] * times], dim)
    import numpy

    rest = numpy.take(value, range(size - count, size), dim)
    return numpy.concatenate([value, *[rest] * times], dim)
