"""What one run has supposed so far of data that are not known."""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch

from shapewright.engine.call_sites import OURS
from shapewright.engine.memo import INPLACE

Tensor = torch.Tensor
KEPT = 1 << 23
"""Elements of all that was supposed and is kept; the oldest is forgotten first."""
MOST = 4096
"""Objects that are remembered as made of unknown data."""
Key = tuple[Any, ...]
Event = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Guess:
    """A representative. `told`: something rests on it or bound it; `sure`: it is so."""

    value: Tensor
    told: bool = False
    sure: bool = False


class Waits:
    """How often reads that loops wait for were asked, by place."""

    def __init__(self) -> None:
        self.asked: dict[tuple[CodeType, Any], int] = {}
        self.ended: dict[tuple[CodeType, Any], int] = {}


class ChosenValues:
    """Where unknown data were read, and the objects that were given for them."""

    def __init__(self) -> None:
        self.places: dict[CodeType, set[int]] = {}
        self.objects: dict[int, Any] = {}

    def add(self, value: Any) -> None:
        """A read was answered with this."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(OURS):
            frame = frame.f_back
        if frame is not None:
            self.places.setdefault(frame.f_code, set()).add(frame.f_lasti)
        if type(value) not in (bool, int) and len(self.objects) < MOST:
            self.objects[id(value)] = value


class Supposed:
    """Representatives of one run's tensors, by what made them and when."""

    def __init__(self) -> None:
        self.kept: OrderedDict[Key, Guess] = OrderedDict()
        self.unsure: set[Key] = set()  # of which constants alone do not tell
        self.size = 0
        self.made: dict[int, int] = {}  # event by number of tensor
        self.wrote: dict[int, int] = {}  # last write by number of storage
        self.seen = 0

    def look(self, events: list[Event]) -> None:
        """Read the events that came since the last time."""
        if len(events) < self.seen:  # calls that were tried were taken back
            self.made.clear()
            self.wrote.clear()
            self.seen = 0
        for number in range(self.seen, len(events)):
            answer, _, outs, _, _ = events[number]
            for out in outs:
                self.made[out.number] = number
            if answer.kind == INPLACE and outs:
                self.wrote[outs[0].storage.number] = number
        self.seen = len(events)

    def keep(self, key: Key, guess: Guess) -> Guess:
        """Give the same answer the next time."""
        if key in self.kept:
            self.size -= self.kept[key].value.numel()
        self.size += guess.value.numel()
        self.kept[key] = guess
        while self.size > KEPT and len(self.kept) > 1:
            _, oldest = self.kept.popitem(last=False)
            self.size -= oldest.value.numel()
        return guess
