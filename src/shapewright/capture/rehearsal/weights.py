"""Which parameters began with weights of their own: loaded, or copied into them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from torch import nn

from shapewright.capture.identity import THEIRS
from shapewright.capture.names import plain_name

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


READS = frozenset({"from_numpy", "tensor", "as_tensor", "asarray", "frombuffer"})
"""Calls that make tensors of numbers that the program has."""


class Weights:
    """What was loaded before the first step of an optimizer."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.first: int | None = None  # events before the first step
        self.read = False  # a file of tensors was
        self.loaded: dict[int, Any] = {}  # parameters that a state dict was put into

    def stepping(self) -> None:
        """An optimizer is about to step."""
        if self.first is None:
            self.first = len(self.stage.engine.events)

    def reading(self) -> None:
        """A file is loaded."""
        self.read |= self.first is None

    def into(self, module: nn.Module) -> None:
        """A state dict was loaded into a module."""
        if self.first is None:
            self.loaded.update((id(each), each) for each in module.parameters())

    def are_as_made(self, parameters: Collection[Any]) -> bool:
        """Whether all of these have the random numbers that they were made with.

        Of what was there before the run nobody knows, nor of files that were loaded
        and did not become state dicts.
        """
        if self.read and not self.loaded:
            return False
        engine = self.stage.engine
        infos = [engine.info(each) for each in parameters]
        if any(info.kind == THEIRS for info in infos):
            return False
        if any(id(each) in self.loaded for each in parameters):
            return False
        storages = {info.storage.number for info in infos}
        return storages.isdisjoint(brought(engine.events[: self.first]))


def brought(events: Iterable[tuple[Any, ...]]) -> set[int]:
    """Storages with numbers that the run did not make itself, or made of such."""
    made: set[int] = set()
    found: set[int] = set()
    for answer, ins, outs, *_ in events:
        theirs = not isinstance(answer.func, str) and plain_name(answer.func) in READS
        given = {info.storage.number for info in ins}
        if theirs or not given <= made or not found.isdisjoint(given):
            found.update(out.storage.number for out in outs)
        made.update(out.storage.number for out in outs)
    return found
