"""The values that a run has assumed so far for unknown data."""

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
"""Total elements of assumed values that are kept; the oldest are dropped first."""
MOST = 4096
"""Largest number of objects remembered as computed from unknown data."""
Key = tuple[Any, ...]
Event = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Guess:
    """A representative. `told`: something rests on it or bounds it; `sure`: exact."""

    value: Tensor
    told: bool = False
    sure: bool = False


class Waits:
    """The number of reads for which loops wait, by place."""

    def __init__(self) -> None:
        self.asked: dict[tuple[CodeType, Any], int] = {}
        self.ended: dict[tuple[CodeType, Any], int] = {}


class ChosenValues:
    """The places that read unknown data, and the objects that were returned for it."""

    def __init__(self) -> None:
        self.places: dict[CodeType, set[int]] = {}
        self.objects: dict[int, Any] = {}

    def add(self, value: Any) -> None:
        """Note a value that was returned for a read of unknown data."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(OURS):
            frame = frame.f_back
        if frame is not None:
            self.places.setdefault(frame.f_code, set()).add(frame.f_lasti)
        if type(value) not in (bool, int) and len(self.objects) < MOST:
            self.objects[id(value)] = value


class Supposed:
    """The representative values of a run's tensors, by the call that produced them."""

    def __init__(self) -> None:
        self.kept: OrderedDict[Key, Guess] = OrderedDict()
        self.unsure: set[Key] = set()  # not decided by constants alone
        self.size = 0
        self.made: dict[int, int] = {}  # event by number of tensor
        self.wrote: dict[int, int] = {}  # last write by number of storage
        self.seen = 0

    def look(self, events: list[Event]) -> None:
        """Process the events since the last call."""
        if len(events) < self.seen:  # tried calls were undone
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
        """Keep a guess, so that the next read returns the same value."""
        if key in self.kept:
            self.size -= self.kept[key].value.numel()
        self.size += guess.value.numel()
        self.kept[key] = guess
        while self.size > KEPT and len(self.kept) > 1:
            _, oldest = self.kept.popitem(last=False)
            self.size -= oldest.value.numel()
        return guess
