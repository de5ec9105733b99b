"""Models in training mode whose outputs no backward pass reaches.

Without `no_grad` an output looks like one that is trained on. Whether it is shows only
when backward passes come, so what is made of outputs is followed until then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shapewright.capture.identity import Info
from shapewright.trace.training import Place

if TYPE_CHECKING:
    from shapewright.capture.calls import Call
    from shapewright.capture.rehearsal.turns import Stage


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A model that was called at a line, in a turn that trains nothing."""

    place: Place
    name: str
    model: int


class Evaluations:
    """The outputs of one rehearsal that may be evaluations."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.event = 0
        self.waiting: dict[int, Evaluated] = {}  # by the number of the output
        self.of: dict[int, frozenset[int]] = {}  # which outputs a tensor is made of
        self.used: set[int] = set()
        self.trained: set[Place] = set()  # where backward passes came

    def add(self, one: Evaluated, outputs: list[Info], event: int) -> None:
        """Outputs with gradients, of a turn that began at an event."""
        if one.place in self.trained:
            return
        if not self.waiting:
            self.event = event
        for info in outputs:
            self.waiting[info.number] = one
            self.of[info.number] = frozenset({info.number})

    def follow(self) -> None:
        """See what was made of the outputs since."""
        events = self.stage.engine.events
        began, self.event = self.event, len(events)
        for _, ins, outs, *_ in events[began:] if self.waiting else ():
            numbers = [info.number for info in ins if info.number in self.of]
            if not numbers:
                continue
            self.used.update(numbers)
            come = frozenset[int]().union(*(self.of[each] for each in numbers))
            for out in outs:
                if out.meta.requires_grad:
                    self.of[out.number] = self.of.get(out.number, come) | come

    def before_backward(self, loss: Info) -> None:
        """A backward pass comes to a loss: what it is made of is trained."""
        self.follow()
        reached = self.of.get(loss.number, frozenset())
        self.trained |= {self.waiting[n].place for n in reached if n in self.waiting}
        self.waiting = {
            number: one
            for number, one in self.waiting.items()
            if one.place not in self.trained
        }
        if not self.waiting:
            self.of.clear()

    def left(self) -> Iterator[Evaluated]:
        """Those that something was made of, and no backward pass came to."""
        self.follow()
        for number, one in self.waiting.items():
            if number in self.used:
                yield one


def leads_to(stage: Stage, call: Call, loss: Info) -> bool:
    """Whether a backward pass of a loss comes to what a model gave in a call.

    It does where nobody sees what the model gave.
    """
    outputs = {info.number for info in infos_in(call.output)}
    wanted = {loss.number}
    for _, ins, outs, *_ in reversed(stage.engine.events[call.end :]):
        if any(out.number in wanted and out.meta.requires_grad for out in outs):
            wanted.update(info.number for info in ins if info.meta.requires_grad)
    return not outputs or bool(outputs & wanted)


def infos_in(nest: Any) -> list[Info]:
    """The tensors in what is known of a nest."""
    if isinstance(nest, Info):
        return [nest]
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, list | tuple):
        return [info for each in nest for info in infos_in(each)]
    return []
