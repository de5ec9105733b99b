"""The mode that sees every call: the per-op path.

A call goes to its plan, found by function. Most plans end in `call_op`: the memo first,
then a rule, then torch itself on data-free tensors. Everything here runs once per op of
the user's program, so it avoids work that can be done when the record is read.
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

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Plan = Callable[["Engine", Any, Args, Kwargs | None], Any]
"""How calls of one function are treated."""

MOST_FAILURES = 200
KNOWN_LIMIT = 1 << 15
"""Tensors of at most this many elements keep their values: torch computes them in one
thread, in microseconds."""
HELD_LIMIT = 1 << 20
"""The same of whole numbers that the program read or was given: labels, lengths and
indices of a data set. They decide shapes; a call on a million takes a millisecond."""


class NeedsGraph(BaseException):
    """The program asks for gradients: run it again with torch below every call."""


@dataclass(frozen=True, slots=True)
class GoingOn:
    """How a run goes on after calls that torch refuses.

    `most` of them are passed, and the next ends the run; so does one at the line
    `gone`. A `quick` run does not look for all that repairs a call. A run that `heeds`
    leaves alone what the program catches itself.
    """

    most: int = MOST_FAILURES
    quick: bool = False
    gone: tuple[str, int] | None = None
    heeds: bool = True


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How an engine answers.

    `graph` runs torch's own kernels and autograd (on data-free tensors) below every
    call; without it, remembered and ruled answers carry no autograd graph. `verify`
    asks torch for each remembered or ruled answer again; `inside` records the kernels
    within a call. Tensors of at most `known` elements keep their values, by default
    `KNOWN_LIMIT`, none without `values`. `watch` is given the plan of each function.
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


class Engine(SeenTensors, TorchFunctionMode):
    """Sees each outermost torch call of one run and answers it without data.

    Its parts read its attributes; they are written by its methods alone.
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
        self.lost = False  # values were known, and let go as too large
        self.watch = options.watch
        self.comparisons = options.comparisons  # of sizes, where they are watched
        self.recording = options.recording
        self.plans: dict[Any, Plan] = {}
        self.theirs: dict[int, tuple[Tensor, Info]] = {}
        self.their_storages: dict[int, Storage] = {}
        self.unknown_ids: set[int] = set()
        self.events: list[tuple[Any, ...]] = []
        self.sites = Sites()
        self.call = 0  # the module call that is running
        self.threads = {get_ident()}  # whose calls are this run's
        self.started = 0  # threads that the program began
        self.needs_graph = False  # said in a thread of the program
        self.reshaped = False  # a tensor of the user's claims other metadata
        self.assumptions: dict[tuple[str, Any], int] = {}
        self.findings: dict[tuple[str, str, Any], tuple[str, int]] = {}
        self.notes: dict[str, int] = {}
        self.error: BaseException | None = None  # raised by torch, not by us
        self.replaced: set[tuple[str, int]] = set()  # loops over batches not as made
        passed = options.going_on
        self.failures: list[Failure] | None = None if passed is None else []
        self.going_on = passed or GoingOn()
        self.hangs = False  # with a graph, calls like one before get what that got
        self.grads: dict[int, Any] = {}
        self.grads_read: dict[int, tuple[Any, Any]] | None = None  # and of what
        self.home_of_factories = self.home
        self.machine: str | None = None  # what it claims to be: `cpu`, `cuda`, `mps`
        self.gpus: int | None = None  # as many as the machine is said to have
        self.gpu = 0  # which of them `cuda` means
        self.met: list[Info] = []
        self.life = Life()
        self.nested = False  # batches are held as nested tensors
        self.waits = Waits()  # loops that wait for values that are not known
        self.chosen = ChosenValues()  # where unknown data were read
        self.rests = False  # the error that ended the run, on one of these
        self.supposed = Supposed()  # what unknown tensors hold
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
        except Exception as error:
            if error is self.error:
                told = self.refusal_of(error, args, kwargs)
                if told is error:
                    raise
                return self.raise_theirs(told)
            return self.fault(error, func, args, kwargs)

    # -- what `mode.Mode` answers with: each part of the engine may ask for it ----

    def plan_for(self, func: Any) -> Plan:
        """How calls of a function are treated in this run."""
        raise NotImplementedError

    def call_op(self, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
        """Answer an ordinary call: the memo, then a rule, then torch itself."""
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
        """Let torch's own kernels answer, on data-free tensors."""
        raise NotImplementedError

    def call_of_padded(self, func: Any, args: Args, kwargs: Kwargs) -> Any:
        """Answer a call with a nested tensor of ours; NotImplemented without one."""
        raise NotImplementedError

    def check_overlap(
        self, func: Any, name: str, args: Args, kwargs: Kwargs, infos: list[Info]
    ) -> None:
        """Raise what real kernels raise where operands share memory."""
        raise NotImplementedError

    def refusal_of(
        self, error: Exception, args: Args, kwargs: Kwargs | None
    ) -> Exception:
        """What the program is told of an error of torch's."""
        raise NotImplementedError

    def fault(
        self, error: Exception, func: Any, args: Args, kwargs: Kwargs | None
    ) -> Any:
        """Our own fault: note it, and let torch answer without a record."""
        raise NotImplementedError

    # -- what its parts tell it ------------------------------------------------------

    def enter(self, call: int) -> None:
        """A module call begins, or goes on after one within it."""
        self.call = call

    def raised(self, error: BaseException | None) -> None:
        """What is raised now is the program's error; None: it was passed over."""
        self.error = error

    def end_with(self, on_supposed: bool) -> None:
        """The error that ended the run rests on values that were supposed, or not."""
        self.rests = on_supposed

    def lose(self) -> None:
        """Values were known, and are let go as too large."""
        self.lost = True

    def begin_thread(self, number: int) -> None:
        """The program began a thread, whose calls are the run's."""
        self.threads.add(number)
        self.started += 1

    def close(self, plans: dict[Any, Plan]) -> None:
        """The run is over: calls of threads that go on are treated by these plans."""
        self.plans = plans

    def ask_for_graph(self) -> None:
        """A thread of the program needs torch's own graph."""
        self.needs_graph = True

    def hold_nested(self) -> None:
        """The program has a nested tensor of ours."""
        self.nested = True

    def hang(self, on: bool) -> None:
        """Calls like one before get the graph that it got, from now on, or do not."""
        self.hangs = on

    def watch_gradients(self, read: dict[int, tuple[Any, Any]]) -> None:
        """Gradients that the program reads are noted there."""
        self.grads_read = read

    def make_on(self, device: str) -> None:
        """Where tensors are made of which the program does not say it."""
        self.home_of_factories = device

    def claim(self, machine: str, gpus: int | None = None) -> None:
        """What the machine claims to be, and how many GPUs it has."""
        self.machine, self.gpus = machine, gpus

    def use_gpu(self, number: int) -> None:
        """The GPU that `cuda` means from now on."""
        if number != self.gpu:
            self.gpu = number
            self.memo.answers.clear()  # which claim the other

    @contextmanager
    def known_up_to(self, limit: int) -> Iterator[None]:
        """Values of tensors of so many elements are kept meanwhile, if any are."""
        before = self.known_limit
        if before > 0:
            self.known_limit = max(before, limit)
        try:
            yield
        finally:
            self.known_limit = before

    @contextmanager
    def unrecorded(self) -> Iterator[None]:
        """Calls meanwhile are not recorded."""
        before, self.recording = self.recording, False
        try:
            yield
        finally:
            self.recording = before

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Calls answered meanwhile leave nothing in the record, and none is passed."""
        error, failures = self.error, self.failures
        assumptions, findings = dict(self.assumptions), dict(self.findings)
        notes, events = dict(self.notes), len(self.events)
        self.failures = None
        try:
            with self.unrecorded():
                yield
        finally:
            self.error, self.failures = error, failures
            self.assumptions, self.findings, self.notes = assumptions, findings, notes
            del self.events[events:]

    # -- running torch -----------------------------------------------------------

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call torch; what it raises is the program's error, not ours."""
        try:
            return func(*args, **kwargs)
        except BaseException as error:
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
        """Note what had to be supposed, at the line of the program that asked."""
        key = (message, (self.sites.here(), self.call))
        self.assumptions[key] = self.assumptions.get(key, 0) + 1

    def note(self, message: str) -> None:
        self.notes[message] = self.notes.get(message, 0) + 1

    def find(
        self, code: str, message: str, torch_message: str = "", once: bool = False
    ) -> None:
        """Something to tell of the line of the program that runs."""
        key = (code, message, (self.sites.here(), self.call))
        words, count = self.findings.get(key, (torch_message, 0))
        self.findings[key] = words, 1 if once else count + 1
