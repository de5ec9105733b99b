"""Loops of libraries over epochs: they end when their turns bring nothing new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from threading import get_ident
from typing import Any

from shapewright.engine.call_sites import USER, classify, is_installed
from shapewright.program.loop_conditions import counts
from shapewright.program.loop_instrumentation import trains
from shapewright.runtime.loops.iterables import Items, source_of
from shapewright.runtime.loops.turns import MOST, Stage, Turns
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
