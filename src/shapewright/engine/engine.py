"""The function mode that sees every torch call of a run.

Each torch function has a plan that answers its calls. Most plans end in `call_op`: try
the memo, then a rule, then torch itself on data-free tensors. The code here runs once
per op of the user's program, so it leaves all it can until the record is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from shapewright.engine.call_sites import Sites
from shapewright.engine.identity import (
    Info,
    Storage,
)
from shapewright.engine.memo import INPLACE, Answer, Memo
from shapewright.engine.seen_tensors import Life, SeenTensors
from shapewright.engine.suppositions import ChosenValues, Supposed, Waits

if TYPE_CHECKING:
    from shapewright.engine.tracked_sizes.comparisons import Comparisons
    from shapewright.operators.failed_calls import Failure
    from shapewright.record.data_values import DataValues
    from shapewright.record.ops import Basis

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Plan = Callable[["Engine", Any, Args, Kwargs | None], Any]
"""A function that answers the calls of one torch function."""

MOST_FAILURES = 200
KNOWN_LIMIT = 1 << 15
"""Tensors of at most this many elements keep their values: torch computes them in one
thread, in microseconds."""
HELD_LIMIT = 1 << 20
"""The limit for integers that the program read or was given: labels, lengths and
indices of a data set. They decide shapes; a call on a million takes a millisecond."""


class NeedsGraph(BaseException):
    """Raised if the program needs gradients, to run it again with torch's autograd."""


@dataclass(frozen=True, slots=True)
class GoingOn:
    """Options for continuing a run after calls that torch refuses.

    The run passes over `most` failures and ends at the next; a failure at the line
    `gone` ends it, too, if torch's message is of the kind `refusal` or that is empty.
    `quick` stops looking for further repairs of a call. `heeds` leaves errors alone
    that the program catches itself.
    """

    most: int = MOST_FAILURES
    quick: bool = False
    gone: tuple[str, int] | None = None
    refusal: str = ""
    heeds: bool = True


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of an engine.

    `graph` runs torch's own kernels and autograd (on data-free tensors) below every
    call; without it, memoized and ruled answers carry no autograd graph. `verify`
    compares every memoized or ruled answer with torch's; `inside` records the kernels
    within a call. Tensors of at most `known` elements keep their values, by default
    `KNOWN_LIMIT`; without `values` none do. `watch` wraps the plan of every function.
    Without `flops`, those of torch's kernels are not counted. Without `holding`, a
    tensor that no recorded call returned lives only as long as the program holds it.
    """

    graph: bool = False
    verify: bool = False
    inside: bool = False
    values: bool = True
    known: int | None = None
    going_on: GoingOn | None = None
    watch: Callable[[Plan], Plan] | None = None
    comparisons: Comparisons | None = None
    recording: bool = True
    flops: bool = True
    holding: bool = True


class Engine(SeenTensors, TorchFunctionMode):
    """The function mode that answers every outermost torch call of a run without data.

    Other modules may read its attributes, but only its methods write them.
    """

    def __init__(
        self, memo: Memo | None = None, options: EngineOptions | None = None
    ) -> None:
        super().__init__()
        options = options or EngineOptions()
        self.memo = memo or Memo()
        self.graph = options.graph
        self.home = "cpu"
        self.verify = options.verify
        self.inside = options.inside
        known = KNOWN_LIMIT if options.values else -1
        self.known_limit = known if options.known is None else options.known
        self.held_limit = HELD_LIMIT if options.values else -1
        self.lost = False  # known values were dropped as too large
        self.watch = options.watch
        self.comparisons = options.comparisons  # of sizes, if these are tracked
        self.recording = options.recording
        self.passing = False  # the program runs on, and its calls are not recorded
        self.counts_flops = options.flops
        self.holding = options.holding
        self.plans: dict[Any, Plan] = {}
        self.theirs: dict[int, tuple[Tensor, Info]] = {}
        self.their_storages: dict[int, Storage] = {}
        self.unknown_ids: set[int] = set()
        self.events: list[tuple[Any, ...]] = []
        self.sites = Sites()
        self.call = 0  # the module call that is running
        self.threads = {get_ident()}  # whose calls are this run's
        self.started = 0  # threads that the program began
        self.needs_graph = False  # set by a thread of the program
        self.reshaped = False  # a tensor of the user's claims other metadata
        self.assumptions: dict[tuple[str, Any], int] = {}
        self.stand_ins: dict[tuple[str, Any], dict[tuple[str, Basis], int]] = {}
        self.findings: dict[tuple[str, str, Any], tuple[str, int]] = {}
        self.notes: dict[str, int] = {}
        self.error: BaseException | None = None  # raised by torch, not by us
        self.replaced: set[tuple[str, int]] = set()  # loops over batches, replaced
        passed = options.going_on
        self.failures: list[Failure] | None = None if passed is None else []
        self.going_on = passed or GoingOn()
        self.hangs = False  # with a graph, equal calls reuse an earlier answer
        self.grads: dict[int, Any] = {}
        self._differentiated: Callable[[Any], None] | None = None
        self.note_flag: Callable[[Any, bool], None] | None = None
        self.grads_read: dict[int, tuple[Any, Any]] | None = None  # and of what
        self.home_of_factories = self.home
        self.machine: str | None = None  # the claimed machine: `cpu`, `cuda`, `mps`
        self.gpus: int | None = None  # number of GPUs of the machine
        self.gpu = 0  # which of them `cuda` means
        self.met: list[Info] = []
        self.life = Life()
        self.nested = False  # the program holds nested tensors of ours
        self.waits = Waits()  # loops that wait for unknown values
        self.chosen = ChosenValues()  # where unknown data were read
        self.rests = False  # the error that ended the run, on one of these
        self.supposed = Supposed()  # what unknown tensors hold
        self.looks_at_data = False
        self.watched_array: Callable[[Any], Any] | None = None
        self.data_values: dict[int, DataValues] = {}  # by the number of a tensor
        self.writes: dict[int, int] = {}

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        plan = self.plans.get(func)
        if plan is None:
            plan = self.plans[func] = self.plan_for(func)
        try:
            return plan(self, func, args, kwargs)
        except Exception as error:  # torch, the program or a fault
            if error is self.error:
                refusal = self.refusal_of(error, args, kwargs)
                if refusal is error:
                    raise
                return self.raise_theirs(refusal)
            return self.fault(error, func, args, kwargs)

    # -- implemented by `mode.Mode`; any part of the engine may call these ----

    def plan_for(self, func: Any) -> Plan:
        """Return the plan that answers calls of a function in this run."""
        raise NotImplementedError

    def call_op(self, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
        """Answer an ordinary call by the memo, else by a rule, else by torch itself."""
        raise NotImplementedError

    def ask_torch(
        self,
        func: Any,
        name: str,
        args: Args,
        kwargs: Kwargs,
        infos: list[Info],
        key: tuple[Any, ...] | None,
    ) -> Any:
        """Run torch's own kernels on data-free tensors."""
        raise NotImplementedError

    def call_of_padded(self, func: Any, args: Args, kwargs: Kwargs) -> Any:
        """Answer a call with a padded nested tensor, else return NotImplemented."""
        raise NotImplementedError

    def check_overlap(
        self, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
    ) -> None:
        """Raise the error of the real kernels if operands share memory."""
        raise NotImplementedError

    def refusal_of(
        self, error: Exception, args: Args, kwargs: Kwargs | None
    ) -> Exception:
        """Return the error that the program receives in place of an error of torch."""
        raise NotImplementedError

    def fault(
        self, error: Exception, func: Any, args: Args, kwargs: Kwargs | None
    ) -> Any:
        """Handle an internal error: note it and let torch run the call, unrecorded."""
        raise NotImplementedError

    # -- state set by other parts -----------------------------------------------------

    def enter(self, call: int) -> None:
        """Set the running module call when it starts or a nested call ends."""
        self.call = call

    def raised(self, error: BaseException | None) -> None:
        """Set the program's current error; None means that the run continued."""
        self.error = error

    def end_with(self, on_supposed: bool) -> None:
        """Note whether the error that ended the run rests on assumed values."""
        self.rests = on_supposed

    def lose(self) -> None:
        """Note that known values were dropped because there are too many of them."""
        self.lost = True

    def begin_thread(self, number: int) -> None:
        """Treat the calls of a new thread of the program as calls of this run."""
        self.threads.add(number)
        self.started += 1

    def close(self, plans: dict[Any, Plan]) -> None:
        """End the run; calls of threads still running are answered by `plans`."""
        self.plans = plans

    def ask_for_graph(self) -> None:
        """Note that a thread of the program needs torch's own autograd graph."""
        self.needs_graph = True

    def hold_nested(self) -> None:
        """Note that the program holds a padded nested tensor."""
        self.nested = True

    def switch_graph_reuse(self, on: bool) -> None:
        """Enable or disable, from here on, the reuse of graphs for equal calls."""
        self.hangs = on

    def watch_data(self) -> None:
        """Note what is remarkable in data that the program makes tensors of."""
        self.looks_at_data = True

    def watch_arrays(self, watch: Callable[[Any], Any] | None) -> None:
        """Hand out NumPy arrays of unknown data as `watch` returns them."""
        self.watched_array = watch

    def watch_gradients(self, read: dict[int, tuple[Any, Any]] | None) -> None:
        """Note in `read` the gradients that the program reads; None: nowhere."""
        self.grads_read = read

    def watch_differentiation(self, note: Callable[[Any], None] | None) -> None:
        """Call `note` with what `autograd.grad` differentiates and frees."""
        self._differentiated = note

    def watch_flags(self, note: Callable[[Any, bool], None] | None) -> None:
        """Call `note` when `requires_grad` of a tensor changes, with the new value."""
        self.note_flag = note

    def note_differentiation(self, loss: Any) -> None:
        """Note that `autograd.grad` is about to free the graph of a tensor."""
        if self._differentiated is not None:
            self._differentiated(loss)

    def make_on(self, device: str) -> None:
        """Set the device of new tensors for which the program specifies none."""
        self.home_of_factories = device

    def claim(self, machine: str, gpus: int | None = None) -> None:
        """Set the device type that the machine claims and its number of GPUs."""
        self.machine, self.gpus = machine, gpus

    def use_gpu(self, number: int) -> None:
        """Set the GPU that `cuda` refers to from now on."""
        if number != self.gpu:
            self.gpu = number
            self.memo.answers.clear()  # they claim the previous GPU

    @contextmanager
    def keep_values_up_to(self, limit: int) -> Iterator[None]:
        """Raise the size limit of kept values in the block, if any are kept."""
        before = self.known_limit
        if before > 0:
            self.known_limit = max(before, limit)
        try:
            yield
        finally:
            self.known_limit = before

    @contextmanager
    def suspend_recording(self) -> Iterator[None]:
        """Disable recording within the block."""
        before, self.recording = self.recording, False
        try:
            yield
        finally:
            self.recording = before

    @contextmanager
    def pass_calls(self) -> Iterator[None]:
        """Answer the program's calls in the block without recording them."""
        with self.suspend_recording():
            self.passing = True
            try:
                yield
            finally:
                self.passing = False

    @contextmanager
    def undo_records(self) -> Iterator[None]:
        """Undo what calls in the block record; do not continue after failed calls."""
        error, failures = self.error, self.failures
        assumptions, findings = dict(self.assumptions), dict(self.findings)
        notes, events = dict(self.notes), len(self.events)
        stand_ins = {key: dict(counts) for key, counts in self.stand_ins.items()}
        self.failures = None
        try:
            with self.suspend_recording():
                yield
        finally:
            self.error, self.failures = error, failures
            self.assumptions, self.findings, self.notes = assumptions, findings, notes
            self.stand_ins = stand_ins
            del self.events[events:]

    # -- running torch -----------------------------------------------------------

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call torch; an exception that it raises counts as the program's error."""
        try:
            return func(*args, **kwargs)
        except BaseException as error:  # torch or the program; raised again
            self.error = error
            raise

    def raise_theirs(self, error: BaseException) -> Any:
        """Raise an error that belongs to the program."""
        self.error = error
        raise error

    # -- the record ------------------------------------------------------------------

    def record(
        self, answer: Answer, infos: list[Info] | tuple[Info, ...], outs: Any
    ) -> None:
        if self.recording:
            if answer.kind == INPLACE and outs:
                storage = outs[0].storage.number
                self.writes[storage] = self.writes.get(storage, 0) + 1
            self.events.append(
                (answer, tuple(infos), outs, self.sites.here(), self.call)
            )

    def assume(self, message: str) -> None:
        """Record an assumption at the line of the program that is running."""
        key = (message, (self.sites.here(), self.call))
        self.assumptions[key] = self.assumptions.get(key, 0) + 1

    def stand_in(self, what: str, by: str, basis: Basis) -> None:
        """Record that something stands for what is not on this machine.

        Example: ``stand_in("`train.bin`", "`np.memmap` of uint16[1,000]", "assumed")``.
        """
        counts = self.stand_ins.setdefault((by, (self.sites.here(), self.call)), {})
        counts[what, basis] = counts.get((what, basis), 0) + 1

    def note(self, message: str) -> None:
        self.notes[message] = self.notes.get(message, 0) + 1

    def find(
        self, code: str, message: str, torch_message: str = "", once: bool = False
    ) -> None:
        """Record a finding at the line of the program that is running; with `once`,
        only where it is the first that says so.
        """
        if once and any(known[:2] == (code, message) for known in self.findings):
            return
        key = (code, message, (self.sites.here(), self.call))
        words, count = self.findings.get(key, (torch_message, 0))
        self.findings[key] = words, count + 1
