"""A rehearsal: the replacements around a training script during its run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.replacement import replace_attribute
from shapewright.record.report import LastBatch, ListField, Rehearsal, Training
from shapewright.runtime.absent import replace_absent_data
from shapewright.runtime.absent.settings import StandInSettings
from shapewright.runtime.claimed_machine import claim_machine
from shapewright.runtime.files.program_files import ProgramFiles
from shapewright.runtime.loops.data_loaders import iter_remainders, watch_loaders
from shapewright.runtime.loops.loop_calls import call_step, watch_loops
from shapewright.runtime.loops.loop_state import RehearsalState
from shapewright.runtime.model_building import replace_downloads
from shapewright.runtime.named_machines import Machine
from shapewright.runtime.processes.data_parallel import replace_data_parallel
from shapewright.runtime.processes.device_meshes import replace_mesh_parallelism
from shapewright.runtime.processes.functional_collectives import (
    replace_functional_collectives,
)
from shapewright.runtime.processes.process_groups import (
    end_groups,
    replace_process_groups,
)
from shapewright.runtime.processes.sharded_parameters import replace_fully_sharded
from shapewright.runtime.training.array_results import watch_arrays
from shapewright.runtime.training.loggers import silence_loggers
from shapewright.runtime.training.loss_scaling import replace_grad_scalers
from shapewright.runtime.training.optimizer_steps import watch_states, watch_steps
from shapewright.runtime.training.story import Story, format_file

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.module_calls import Calls
    from shapewright.runtime.files.layer import Layer
    from shapewright.runtime.memory.rehearsed_storages import RehearsedStorages


def _note_downloads(stage: RehearsalState) -> AbstractContextManager[None]:
    """Prevent downloads of weights, and note the modules that load a state dict."""
    return replace_downloads(stage.engine.assume, stage.facts.weights.note_load)


@contextmanager
def _run_processes_inline(stage: RehearsalState) -> Iterator[None]:
    """Run the processes that the program starts through torch in this one, in turn."""
    multi = torch.multiprocessing

    def spawn(original: Any) -> Any:
        def spawn(
            fn: Any, args: Any = (), nprocs: int = 1, join: bool = True,
            *rest: Any, **named: Any,
        ) -> Any:  # fmt: skip
            words = f"ran process 0 of {nprocs}, here"
            stage.story.note_event(stage.engine, "group", words)
            if nprocs > 1:
                stage.story.skip(
                    f"{nprocs - 1} of {nprocs} processes: one was run, here"
                )
            try:
                fn(0, *args)
            finally:
                end_groups()
            return None if join else _Spawned()

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
            stack.enter_context(replace_attribute(multi, name, spawn))
        stack.enter_context(replace_attribute(multi, "Process", lambda _: Process))
        stack.enter_context(replace_attribute(multi, "set_start_method", nowhere))
        stack.enter_context(
            replace_attribute(nn.Module, "share_memory", lambda _: lambda self: self)
        )
        yield


class _Spawned:
    """A stand-in for spawned processes that have ended."""

    def join(self, timeout: Any = None, grace_period: Any = None) -> bool:
        return True


class _Left(SystemExit):
    """Raised in place of `os._exit` when the program ends its process."""

    call = "os._exit"


@contextmanager
def _catch_exits() -> Iterator[None]:
    """Make `os._exit` end the program but not this process, except in forks."""
    owner, leave = os.getpid(), os._exit

    def left(code: int) -> None:
        if os.getpid() != owner:
            leave(code)
        raise _Left(code)

    with replace_attribute(os, "_exit", lambda original: left):
        yield


Heard = Callable[[Rehearsal, str, int], None]
"""Function that a run calls with its progress, and the current line."""


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """A request to call the function at `place`: `steps` times, or as often as
    needed.
    """

    place: tuple[str, int]
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The results of a rehearsal.

    `later` is the number of calls before the second turn of any loop that trains, if
    there was any; `jumped` before the first cut of a loop that does not train, if there
    was any.
    """

    story: Rehearsal
    layer: Layer
    remainders: tuple[LastBatch, ...] = ()
    later: int | None = None
    jumped: int | None = None
    lists: tuple[ListField, ...] = ()


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """The settings of a rehearsal; if `device` is None, the machine's own is used.

    `holds` decides which files are the program's. A `hurried` run has one turn of each
    loop that trains, and of a loop over batches the last as well: enough to meet most
    errors again. In a `whole` run the loops that do not train have all their turns.
    `heard` is called while it runs, `ended` when the program has ended, also if the run
    then gives no result: it was out of time. `launch` says how it is assumed to be
    started, `stand_ins` what the user says of what is absent. `memory` records what the
    run allocates; its findings then mean nothing.
    """

    holds: Callable[[str], bool]
    device: str | None = "cpu"
    full: bool = False
    arguments: tuple[str, ...] = ()
    hurried: bool = False
    whole: bool = False
    files: ProgramFiles = field(default_factory=ProgramFiles)
    repeats: RepeatedCalls | None = None
    heard: Heard | None = None
    ended: Callable[[Rehearsed], None] | None = None
    launch: str = ""
    stand_ins: StandInSettings = field(default_factory=StandInSettings)
    memory: RehearsedStorages | None = None

    @contextmanager
    def watched(self, engine: Engine, calls: Calls) -> Iterator[Rehearser]:
        """Rehearse the program that runs in the block."""
        machine = Machine(self.device) if self.device is not None else None
        rehearser = Rehearser(self, engine, calls, machine)
        stage = rehearser.stage
        engine.switch_graph_reuse(self.memory is None)
        engine.watch_data()
        if self.launch:
            engine.assume(self.launch)
        with ExitStack() as stack:
            layer = stack.enter_context(self.files.kept(_Witness(stage)))
            stack.enter_context(watch_loops(stage))
            if machine is not None:
                add_note = self.memory.add_note if self.memory is not None else None
                stack.enter_context(claim_machine(machine, engine, add_note))
            stack.enter_context(_catch_exits())
            for around in AROUND:
                stack.enter_context(around(stage))
            if self.memory is not None:
                stack.enter_context(self.memory.watched_rehearsal(stage))
            try:
                yield rehearser
            finally:
                rehearser.end(layer)


AROUND: tuple[Callable[[RehearsalState], AbstractContextManager[object]], ...] = (
    silence_loggers,
    replace_grad_scalers,
    _run_processes_inline,
    _note_downloads,
    replace_absent_data,
    replace_process_groups,
    replace_data_parallel,
    replace_fully_sharded,
    replace_mesh_parallelism,
    replace_functional_collectives,
    watch_loaders,
    watch_steps,
    watch_states,
    watch_arrays,
)
"""Replacements around every rehearsal, outermost first."""


class Rehearser:
    """A rehearsal in progress, and how it ended."""

    def __init__(
        self,
        request: RehearsalRequest,
        engine: Engine,
        calls: Calls,
        machine: Machine | None,
    ) -> None:
        self.request = request
        gpu = torch.cuda.is_available() if machine is None else machine.kind == "cuda"
        self.stage = RehearsalState(
            engine, calls, Story(request.holds), request.full, gpu, request.hurried,
            request.whole, request.stand_ins, request.memory,
        )  # fmt: skip
        self.folder = os.getcwd()
        self.rehearsed: Rehearsed | None = None
        heard = request.heard
        if heard is not None:
            self.stage.story.heard = lambda file, line: heard(
                self._story(Training()), format_file(file, self.folder), line
            )

    def repeated(self, target: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the target to be called repeatedly, if the request says so."""
        repeats = self.request.repeats
        if repeats is None:
            return target

        def run(*args: Any, **kwargs: Any) -> Any:
            once = lambda: target(*args, **kwargs)  # noqa: E731
            return call_step(self.stage, once, repeats.place, repeats.steps)

        run.__name__ = target.__name__
        return run

    def end(self, layer: Layer) -> None:
        """Finish after the program has ended; `layer` holds the files that it wrote."""
        stage = self.stage
        stage.tell_unmet()
        left = tuple(iter_remainders(stage, self.folder))
        stage.facts.data.look_at_items(stage.made, stage.fetched)
        story = replace(
            self._story(stage.facts.told(self.folder)),
            gradients=stage.gradients.told(),
        )
        self.rehearsed = Rehearsed(
            story, layer, left, stage.later, stage.jumped, tuple(stage.listed)
        )
        if self.request.ended is not None:
            self.request.ended(self.rehearsed)

    def _story(self, training: Training) -> Rehearsal:
        story = self.stage.story
        return Rehearsal(
            self.request.device or ("cuda" if torch.cuda.is_available() else "cpu"),
            story.root.told(self.folder),
            tuple(story.skipped),
            self.request.arguments,
            steps=self.stage.steps,
            training=training,
        )


class _Witness:
    """A witness that adds each file that is saved or loaded to the story."""

    def __init__(self, stage: RehearsalState) -> None:
        self.stage = stage

    def saved(self, file: str) -> None:
        """Note a call of `torch.save` or a similar function."""
        self.stage.story.note_event(self.stage.engine, "save", file)

    def copying(self) -> AbstractContextManager[None]:
        """Leave what is allocated in the block out of the memory of the program."""
        memory = self.stage.memory
        return nullcontext() if memory is None else memory.paused()

    def loaded(self, file: str) -> None:
        """Note a call of `torch.load` or a similar function."""
        self.stage.facts.weights.reading()
        self.stage.story.note_event(self.stage.engine, "load", file)
