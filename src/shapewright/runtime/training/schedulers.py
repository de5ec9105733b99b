"""Schedulers: their order, their metric, and the optimizer whose rate they change."""

from __future__ import annotations

import weakref
from math import isclose
from typing import TYPE_CHECKING, Any, Protocol

from torch.optim.lr_scheduler import ReduceLROnPlateau

from shapewright.record.report import Place
from shapewright.runtime.training.planned_steps import find_highest_factor

if TYPE_CHECKING:
    from shapewright.runtime.training.story import Meet, ProgramRun

LOWEST = 0.05
"""A factor that no schedule of factors stays below: most reach 1."""
USUAL_RATE = 0.1
"""The largest learning rate that is meant as one; 1.0 is a place holder."""


class OptimizerFacts(Protocol):
    """What is known of the optimizers of a run."""

    run: ProgramRun
    watched: list[Any]
    steps: int

    @property
    def meet(self) -> Meet: ...


class _Scheduler:
    """A scheduler: its optimizer's number, and its last step."""

    def __init__(self, scheduler: Any, optimizer: int, place: Place) -> None:
        self.scheduler = weakref.ref(scheduler)
        self.name = type(scheduler).__name__
        self.optimizer = optimizer
        self.built = place
        self.stepped: tuple[Place, int] | None = None  # and the steps before


class Schedulers:
    """The schedulers of a run, and the optimizers whose learning rates they change."""

    def __init__(self, facts: OptimizerFacts) -> None:
        self.facts = facts
        self.built: list[_Scheduler] = []

    def note_built(self, scheduler: Any, optimizer: Any) -> None:
        """Note that a scheduler was constructed."""
        number = self._find_number(optimizer)
        if number is not None:
            place = self.facts.run.here()
            self.built.append(_Scheduler(scheduler, number, place))

    def note_step(self, scheduler: Any) -> None:
        """Note that a scheduler steps, and what its metric is expected to do."""
        place = self.facts.run.here()
        for known in self.built:
            if known.scheduler() is scheduler:
                if known.stepped is None:
                    self._look_at_factor(scheduler, known)
                known.stepped = place, self.facts.steps
                if isinstance(scheduler, ReduceLROnPlateau):
                    self.facts.meet("plateau", place, known.built, scheduler.mode)

    def find_place(self, scheduler: Any) -> Place | None:
        """Return the line that built a scheduler, or None."""
        places = (known.built for known in self.built if known.scheduler() is scheduler)
        return next(places, None)

    def _look_at_factor(self, scheduler: Any, known: _Scheduler) -> None:
        """Note a schedule that multiplies the rate by next to nothing at all steps."""
        highest = find_highest_factor(scheduler)
        rate = max(scheduler.base_lrs) if highest is not None else 0.0
        if highest is None or not 0 < highest < 1 or rate > USUAL_RATE:
            return
        if highest < LOWEST or isclose(highest, rate):  # the rate itself
            optimizer = self.facts.watched[known.optimizer].built
            words = f"{highest:.2g} {rate:g}"
            self.facts.meet("low-factor", known.built, optimizer, words)

    def _find_number(self, optimizer: Any) -> int | None:
        """Return the number of an optimizer in the run, or None."""
        watched = self.facts.watched
        numbers = (
            n for n, known in enumerate(watched) if known.optimizer() is optimizer
        )
        return next(numbers, None)

    def look_at_left(self) -> None:
        """Note schedulers that go on with an optimizer which another has replaced."""
        watched = self.facts.watched
        scheduled = {known.optimizer for known in self.built}
        for known in self.built:
            old = watched[known.optimizer]
            for number in range(known.optimizer + 1, len(watched)):
                new = watched[number]
                if number in scheduled or new.first is None or known.stepped is None:
                    continue
                same = old.counts.keys() & new.counts.keys()
                went_on = known.stepped[1] > new.first
                if same and went_on and old.last < new.first:
                    name = f"{known.name} {old.name} {new.name}"
                    self.facts.meet("scheduler-left", known.stepped[0], new.built, name)
                    self.facts.meet("scheduler-of", known.stepped[0], known.built, name)
