"""A rehearsal: what is changed around a training script for the time of its run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from shapewright.capture.files.program_files import ProgramFiles
from shapewright.capture.rehearsal.groups import groups_stood_for
from shapewright.capture.rehearsal.helpers import helpers_stood_for
from shapewright.capture.rehearsal.leaving import leaving_heard
from shapewright.capture.rehearsal.loaders import loaders_watched, remainders
from shapewright.capture.rehearsal.looping import loops_told
from shapewright.capture.rehearsal.machine import Machine, claimed_machine
from shapewright.capture.rehearsal.parallel import parallel_stood_for
from shapewright.capture.rehearsal.states import states_watched
from shapewright.capture.rehearsal.steps import steps_watched
from shapewright.capture.rehearsal.story import Story, shown
from shapewright.capture.rehearsal.turns import Stage
from shapewright.trace.rehearsal import Rehearsal, Remainder
from shapewright.trace.training import Training

if TYPE_CHECKING:
    from shapewright.capture.calls import Calls
    from shapewright.capture.engine import Engine
    from shapewright.capture.files.layer import Layer


Heard = Callable[[Rehearsal, str, int], None]
"""What a run tells of itself while it goes on, and the line at which it is."""


class Rehearsing:
    """How a script is rehearsed, and afterwards what happened.

    A `hurried` run has one turn of each loop that trains, and of a loop over batches
    the last as well: enough to meet most errors again. In a `whole` run the loops that
    do not train have all their turns.
    """

    def __init__(
        self,
        holds: Callable[[str], bool],
        device: str | None = "cpu",
        full: bool = False,
        arguments: tuple[str, ...] = (),
        hurried: bool = False,
        heard: Heard | None = None,
        files: ProgramFiles | None = None,
        whole: bool = False,
    ) -> None:
        self.holds = holds
        self.device = device
        self.full = full
        self.arguments = arguments
        self.hurried = hurried
        self.whole = whole
        self.heard = heard
        self.files = files or ProgramFiles()
        self.layer: Layer | None = None
        self.told: Rehearsal | None = None
        self.stage: Stage | None = None
        self.batches: frozenset[int] = frozenset()
        self.remainders: tuple[Remainder, ...] = ()

    @property
    def later(self) -> int | None:
        """Calls before the second turn of any loop that trains, where one had it."""
        return self.stage.later if self.stage is not None else None

    @property
    def jumped(self) -> int | None:
        """Calls before the first cut of a loop that does not train, where one was."""
        return self.stage.jumped if self.stage is not None else None

    def number(self, number_of: Callable[[int], int]) -> None:
        """Take the numbers that tensors have in the record."""
        if self.stage is not None:
            self.batches = frozenset(map(number_of, self.stage.batched))

    @contextmanager
    def watched(self, engine: Engine, calls: Calls) -> Iterator[None]:
        """The run stands in the block. Without a device, it is the machine's own."""
        story = Story(self.holds)
        machine = Machine(self.device) if self.device is not None else None
        gpu = torch.cuda.is_available() if machine is None else machine.kind == "cuda"
        stage = Stage(engine, calls, story, self.full, gpu, self.hurried)
        stage.whole = self.whole
        self.stage = stage
        engine.hangs = True
        folder = os.getcwd()
        heard = self.heard

        def told(training: Training) -> Rehearsal:
            return Rehearsal(
                self.device or ("cuda" if torch.cuda.is_available() else "cpu"),
                story.root.told(folder),
                tuple(story.skipped),
                self.arguments,
                steps=stage.steps,
                training=training,
            )

        if heard is not None:
            story.heard = lambda file, line: heard(
                told(Training()), shown(file, folder), line
            )
        with ExitStack() as stack:
            layer = stack.enter_context(self.files.kept(Witness(stage)))
            stack.enter_context(loops_told(stage))
            if machine is not None:
                stack.enter_context(claimed_machine(machine, engine))
            stack.enter_context(leaving_heard())
            stack.enter_context(helpers_stood_for(stage))
            stack.enter_context(groups_stood_for(stage))
            stack.enter_context(parallel_stood_for(stage))
            stack.enter_context(loaders_watched(stage))
            stack.enter_context(steps_watched(stage))
            stack.enter_context(states_watched(stage))
            try:
                yield
            finally:
                stage.tell_unmet()
                self.layer = layer
                self.remainders = tuple(remainders(stage, folder))
                made = told(stage.facts.told(folder))
                self.told = replace(made, gradients=stage.gradients.told())


class Witness:
    """Tells the story of each file that is saved or loaded."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def saved(self, file: str) -> None:
        """`torch.save`, and its like."""
        self.stage.story.happened(self.stage.engine, "save", file)

    def loaded(self, file: str) -> None:
        """`torch.load`, and its like."""
        self.stage.facts.weights.reading()
        self.stage.story.happened(self.stage.engine, "load", file)
