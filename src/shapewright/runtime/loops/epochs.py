"""Loops of libraries over epochs: they end when their turns bring nothing new.

Conditions of theirs on steps, `step % 100 == 0`, hold once as in a whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from threading import get_ident
from typing import Any

from shapewright.engine.call_sites import USER, classify, is_installed
from shapewright.program.loop_conditions import counts
from shapewright.program.loop_instrumentation import trains
from shapewright.runtime.loops.counts import LONGEST_PERIOD
from shapewright.runtime.loops.iterables import Items, source_of
from shapewright.runtime.loops.loop_state import Stage
from shapewright.runtime.loops.turns import MOST, Turns
from shapewright.runtime.training.story import shown

FEWEST = 3
"""Epochs that run: what is kept from one to the next shows in the third."""


class Epochs(Turns):
    """The turns of a library's loop."""

    def __init__(self, stage: Stage, total: int | None = None) -> None:
        super().__init__(stage)
        self.total = total
        self.whole = False  # the last turn was an epoch
        stage.loops.append(self)

    def done(self) -> None:
        """A turn ended: was it an epoch, and did it bring anything new?"""
        began, fetched = self.fetched, self.stage.fetched[self.fetched :]
        self.whole = bool(fetched) and all(each.born >= began for each in fetched)
        self.count()

    def is_enough(self) -> bool:
        """Whether more epochs would bring nothing new."""
        if not self.whole or self.stage.full or self.ran < FEWEST:
            return False
        return not self.fresh or self.ran >= MOST

    def told_cut(self) -> None:
        """Say at which line of the program epochs were left out."""
        story = self.stage.story
        file, line = story.line(self.stage.engine)
        of = f" of {self.total}" if self.total is not None else ""
        place = f"{shown(file, story.folder)}:{line}"
        story.skip(f"{place}: the library's epochs ended after {self.ran}{of}")

    def end(self) -> None:
        """The loop is left."""
        if self in self.stage.loops:
            self.stage.loops.remove(self)


def epochs(stage: Stage, inner: Any, file: str, line: int, told: Any) -> Iterator[Any]:
    """The items of a library's `for` loop, as many of them as bring something new."""
    if get_ident() != stage.thread:
        yield from inner
        return
    source = source_of(inner)
    turns = Epochs(stage, source.total)
    try:
        for item in source:
            turns.begin()
            yield item
            turns.done()
            if turns.is_enough():
                turns.told_cut()
                if not (isinstance(source, Items) and source.skip(None)):
                    return
                yield from source
                return
    finally:
        turns.end()


class Asked:
    """The turns of a library's `while` loop: asked with the condition before each."""

    def __init__(self, stage: Stage, file: str, line: int, told: Any) -> None:
        self.turns = Epochs(stage)
        self.began = False

    def __call__(self, condition: Any) -> Any:
        if get_ident() != self.turns.stage.thread:
            return condition
        if self.began:
            self.turns.done()
            if condition and self.turns.is_enough():
                self.turns.told_cut()
                return False
        self.began = True
        if condition:
            self.turns.begin()
        return condition

    def end(self) -> None:
        """The loop is left."""
        self.turns.end()


REACHED = 3
"""Turns that a library's loop has in any case."""

Key = tuple[str, int, int]
"""The condition in words, its number in its file, and the period."""


@dataclass
class Periods:
    """What each condition was asked with, and the count that was taken for due.

    A count is a number that grows by one from one step of the training to the next:
    sizes, or the numbers of layers, do not.
    """

    stage: Stage
    seen: dict[Key, dict[int, int]] = field(default_factory=dict)
    chosen: dict[Key, int] = field(default_factory=dict)

    def due(self, count: Any, period: Any, words: str, at: int, library: bool) -> Any:
        """`count % period`, zero where a whole run's condition is taken as met."""
        left = count % period
        least = REACHED if library else LONGEST_PERIOD
        if type(count) is not int or type(period) is not int or period <= least:
            return left
        stage, key = self.stage, (words, at, period)
        if stage.full or get_ident() != stage.thread:
            return left
        if self.chosen.get(key) == count:
            return 0
        if left == 0:
            if count or not library:
                self.chosen.setdefault(key, count)
            return 0
        seen = self.seen.setdefault(key, {})
        trained = seen.setdefault(count, stage.trained)
        before = seen.get(count - 1)
        if key in self.chosen or before is None or before >= trained:
            return left
        self.chosen[key] = count
        stage.engine.assume(f"`{words}` with {period} taken as 0 at {count}")
        return 0

    def exceeds(self, setting: Any, length: Any) -> Any:
        """`setting > length`, with the length that a shortened loader really has."""
        if type(length) is int:
            length = self.stage.shortened.get(length, length)
        return setting > length


def is_own_package(file: str) -> bool:
    """Whether a file is neither installed nor Python's: the user's, elsewhere."""
    return file.endswith(".py") and not is_installed(file) and classify(file) == USER


def of_training_library(file: str) -> bool:
    """Whether a file is a library's, not torch's, and may loop over epochs."""
    return has(file, trains)


def of_counting_library(file: str) -> bool:
    """Whether it is a library's, and may have conditions on what it counts."""
    return has(file, counts)


@cache
def has(file: str, what: Callable[[bytes], bool]) -> bool:
    """Whether a file is a library's, not torch's, with such a text."""
    if not is_installed(file) or classify(file) != USER:
        return False
    try:
        with open(file, "rb") as stream:
            return what(stream.read())
    except OSError:
        return False
