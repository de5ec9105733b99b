"""The state of a rehearsal and of its loops: iterations, counts and growing values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from shapewright.engine.call_sites import is_own_package
from shapewright.record.report import ListField
from shapewright.runtime.absent.settings import StandInSettings
from shapewright.runtime.loops.carried_values import CarriedCounts, Growing, Lists
from shapewright.runtime.loops.counts import NOTHING, Counts, Told
from shapewright.runtime.training.gradients import Gradients, Graphs
from shapewright.runtime.training.story import ProgramRun, format_file
from shapewright.runtime.training.training_facts import Facts

if TYPE_CHECKING:
    from shapewright.engine.identity import Meta
    from shapewright.engine.module_calls import RunningCall
    from shapewright.runtime.loops.iterables import LoaderPass

Bucket = tuple[int, Any, str]
"""A buffer for gradients: its elements, their dtype, and its device."""

IDLE = 32
"""Turns of a loop that call nothing, after which its turns are no longer observed."""


class _Idle:
    """The number of recent idle iterations of each loop, by its file and line."""

    def __init__(self) -> None:
        self.turns: dict[tuple[str, int], int] = {}

    def is_met(self, place: tuple[str, int]) -> bool:
        """Return whether at least `IDLE` iterations in a row were idle."""
        return self.turns.get(place, 0) >= IDLE

    def count(self, place: tuple[str, int], idle: bool) -> None:
        """Count an iteration of the loop at a place as idle, or reset the count."""
        self.turns[place] = self.turns.get(place, 0) + 1 if idle else 0


class Plain:
    """Numbers for metadata, which are equal if only the storage offset differs."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Meta, int]] = {}
        self.keys: dict[Any, int] = {}

    def key(self, meta: Meta) -> int:
        """Return the number of some metadata."""
        entry = self.known.get(id(meta))
        if entry is None:
            about = (
                meta.shape, meta.stride, meta.torch_dtype, meta.device,
                meta.requires_grad, meta.layout,
            )  # fmt: skip
            number = self.keys.setdefault(about, len(self.keys))
            entry = self.known[id(meta)] = meta, number
        return entry[1]


class TurnRecorder(Protocol):
    """Whoever follows the turns of the loops that run: the record of memory.

    `keeps_whole` says that parameters are here that a real run shares out.
    `choose_batch` is given the batch size of a loader, and returns the one to run with.
    What is allocated while it is `paused` does not count. `hold_buckets` returns the
    buffers in which a wrapper sends gradients: of each the elements, dtype and device.
    """

    keeps_whole: bool

    def choose_batch(self, place: tuple[str, int], size: int) -> int: ...
    def begin_turn(self, loop: RunningLoop, number: int, total: int | None) -> None: ...
    def end_loop(self, loop: RunningLoop) -> None: ...
    def paused(self) -> AbstractContextManager[None]: ...
    def hold_buckets(self, buckets: Sequence[Bucket]) -> list[Any]: ...


@dataclass(slots=True)
class RehearsalState(ProgramRun):
    """The state that loops read: the run, its story, and what has happened so far."""

    full: bool = False
    has_gpu: bool = False  # the device that is claimed
    hurried: bool = False  # only until an error is met again
    whole: bool = False  # loops that do not train have all their turns
    stand_ins: StandInSettings = field(default_factory=StandInSettings)
    memory: TurnRecorder | None = None  # where a run is recorded for it
    jumped: int | None = None  # events when the first of those was cut
    later: int | None = None  # events when a second turn of a loop first began
    trained: int = 0  # backward passes and optimizer steps
    steps: int = 0  # of optimizers
    fetched: list[LoaderPass] = field(default_factory=list)  # which loader, in order
    made: list[tuple[int, int]] = field(default_factory=list)  # events of each batch
    loaders: WeakKeyDictionary[Any, tuple[str, int]] = field(
        default_factory=WeakKeyDictionary
    )  # where each was constructed
    short: list[tuple[int, LoaderPass]] = field(
        default_factory=list
    )  # last ones, by turn
    batched: set[int] = field(default_factory=set)  # tensors with samples in dim 0
    batched_by: dict[int, dict[int, set[int] | None]] = field(
        default_factory=dict
    )  # those of each loader, by their place in a batch; None if its dim 0 is another
    loops: list[RunningLoop] = field(default_factory=list)  # that run, outermost first
    shortened: dict[int, int] = field(default_factory=dict)  # lengths told, and real
    listed: dict[ListField, None] = field(default_factory=dict)
    unlike: dict[Any, str] = field(default_factory=dict)  # items that make no batch
    thread: int = field(default_factory=get_ident)
    waited: dict[tuple[str, int], str] = field(default_factory=dict)
    met: set[tuple[str, int]] = field(default_factory=set)  # of conditions on counts
    idle: _Idle = field(default_factory=_Idle)
    plain: Plain = field(default_factory=Plain)
    lists: Lists = field(default_factory=Lists)
    numbers: CarriedCounts = field(default_factory=CarriedCounts)
    making: int = 0  # items of batches, right now
    facts: Facts = field(init=False)
    gradients: Gradients = field(init=False)

    def __post_init__(self) -> None:
        self.gradients = Gradients(self.calls)
        self.facts = Facts(self, self.gradients)
        self.calls.ended = self.called

    def owns(self, file: str) -> bool:
        """Return whether a file is of the program, or of a package of the user's."""
        return self.story.holds(file) or is_own_package(file)

    def is_in_loop(self) -> bool:
        """Return whether a loop's own lines run, and no module that they call."""
        return bool(self.loops) and self.loops[-1].caller == self.engine.call

    def marks(self) -> tuple[int, ...]:
        """Return values that change in every iteration in which something happens."""
        return len(self.engine.events), len(self.fetched), self.trained

    def count_steps(self) -> int:
        """Return how many steps optimizers have taken."""
        return self.steps

    def note_turn(self, loop: RunningLoop, number: int, total: int | None) -> None:
        """Note that a turn of a loop begins, `number` of `total` in a real run."""
        if self.memory is not None:
            self.memory.begin_turn(loop, number, total)

    def called(self, call: RunningCall, out: Any) -> None:
        """Note that a call of a module returned."""
        self.facts.modes.called(call)
        self.facts.statistics.called(call, self.steps)
        self.facts.layer_sizes.called(call)
        self.gradients.called(call, out)

    def is_one_step(self) -> bool:
        """Return whether something was trained with at most one step per optimizer."""
        stepped = [
            optimizer
            for optimizer in self.facts.watched
            if optimizer.stepped is not None
        ]
        return self.trained > 0 and self.steps <= len(stepped)

    def tell_unmet(self) -> None:
        """Report the conditions on counts that were never true in this run."""
        for place, test in self.waited.items():
            if place not in self.met:
                place_text = f"{format_file(place[0], self.story.folder)}:{place[1]}"
                self.story.skip(f"{place_text}: `{test}` was true in no turn that ran")


class RunningLoop:
    """A running loop: its place, iterations so far, counts and growing values."""

    def __init__(
        self,
        stage: RehearsalState,
        file: str = "",
        line: int = 0,
        facts: Told = NOTHING,
    ) -> None:
        self.stage = stage
        self.caller = stage.engine.call  # the module in which it runs, 0 outside any
        self.outside = self.caller == 0
        self.omitted = 0  # turns, of a loop that does not train
        self.place = file, line
        self.counts = Counts(facts)
        self.growing = Growing(stage.lists, stage.numbers, self.counts, self.place)
        self.ran = 0
        self.trains = self.loads = False
        self.graphs = Graphs()  # of backward passes
