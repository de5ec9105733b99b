"""A rehearsal: what is changed around a training script for the time of its run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.replacement import replaced
from shapewright.record.report import Rehearsal, Remainder, Training
from shapewright.runtime.claimed_machine import Machine, claimed_machine
from shapewright.runtime.files.program_files import ProgramFiles
from shapewright.runtime.loops.data_loaders import loaders_watched, remainders
from shapewright.runtime.loops.loop_calls import loops_told
from shapewright.runtime.loops.loop_state import Stage
from shapewright.runtime.model_building import downloads_stood_for
from shapewright.runtime.processes.data_parallel import parallel_stood_for
from shapewright.runtime.processes.process_groups import end_groups, groups_stood_for
from shapewright.runtime.training.loggers import quiet
from shapewright.runtime.training.loss_scaling import scalers_stood_for
from shapewright.runtime.training.optimizer_steps import states_watched, steps_watched
from shapewright.runtime.training.story import Story, shown

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.module_calls import Calls
    from shapewright.runtime.files.layer import Layer


@contextmanager
def helpers_stood_for(stage: Stage) -> Iterator[None]:
    """All of this module, for the time of a rehearsal."""
    with ExitStack() as stack:
        stack.enter_context(quiet(stage))
        stack.enter_context(scalers_stood_for(stage))
        stack.enter_context(processes_inline(stage))
        stack.enter_context(
            downloads_stood_for(stage.engine.assume, stage.facts.weights.into)
        )
        yield


@contextmanager
def processes_inline(stage: Stage) -> Iterator[None]:
    """Processes that torch would start run here, one after the other."""
    multi = torch.multiprocessing

    def spawn(original: Any) -> Any:
        def spawn(
            fn: Any, args: Any = (), nprocs: int = 1, join: bool = True,
            *rest: Any, **named: Any,
        ) -> Any:  # fmt: skip
            words = f"ran process 0 of {nprocs}, here"
            stage.story.happened(stage.engine, "group", words)
            if nprocs > 1:
                stage.story.skip(
                    f"{nprocs - 1} of {nprocs} processes: one was run, here"
                )
            try:
                fn(0, *args)
            finally:
                end_groups()
            return None if join else Spawned()

        return spawn

    class Process:
        def __init__(
            self, group: Any = None, target: Any = None, name: Any = None,
            args: Any = (), kwargs: Any = None, *, daemon: Any = None,
        ) -> None:  # fmt: skip
            self.target, self.args, self.kwargs = target, args, kwargs or {}
            self.name, self.daemon = name, daemon
            self.exitcode: int | None = None
            self.pid = 0

        def run(self) -> None:
            if self.target is not None:
                self.target(*self.args, **self.kwargs)

        def start(self) -> None:
            stage.story.skip("processes: they were run here, one after the other")
            try:
                self.run()
            finally:
                end_groups()
            self.exitcode = 0

        def join(self, timeout: Any = None) -> None:
            pass

        def is_alive(self) -> bool:
            return False

        def terminate(self) -> None:
            pass

        close = kill = terminate

    nowhere = lambda _: lambda *args, **kwargs: None  # noqa: E731
    with ExitStack() as stack:
        for name in ("spawn", "start_processes"):
            stack.enter_context(replaced(multi, name, spawn))
        stack.enter_context(replaced(multi, "Process", lambda _: Process))
        stack.enter_context(replaced(multi, "set_start_method", nowhere))
        stack.enter_context(
            replaced(nn.Module, "share_memory", lambda _: lambda self: self)
        )
        yield


class Spawned:
    """Processes that have ended."""

    def join(self, timeout: Any = None, grace_period: Any = None) -> bool:
        return True


class Left(SystemExit):
    """The program ended its process."""

    call = "os._exit"


@contextmanager
def leaving_heard() -> Iterator[None]:
    """`os._exit` ends the program and not the process, but of its own children."""
    owner, leave = os.getpid(), os._exit

    def left(code: int) -> None:
        if os.getpid() != owner:
            leave(code)
        raise Left(code)

    with replaced(os, "_exit", lambda original: left):
        yield


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
        engine.hang(True)
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
