"""Parameters that a program writes itself: steps by hand, and weights that it loads.

No optimizer reports them, so the calls since the last backward pass are searched: a
call is a step if it writes a leaf and reads a value computed from its gradient.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import THEIRS
from shapewright.engine.memo import INPLACE
from shapewright.operators.facts import operators_with
from shapewright.record.report import Place
from shapewright.runtime.training.story import get_site_line

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.runtime.training.story import Meet, ProgramRun


ANEW = operators_with("overwrites_all") - operators_with("is_random")
"""Calls after which nothing remains of a tensor's earlier values."""


@dataclass(slots=True)
class _Used:
    """A leaf whose gradient a step used; `piled` is where a later backward pass added
    to it.
    """

    leaf: Any
    gradient: Any
    version: int
    place: Place
    piled: Place | None = None

    def told(self, meet: Meet) -> None:
        """Report another use of the gradient if a backward pass has added to it."""
        if self.piled is not None:
            meet("stale", self.piled, self.place)


class ByHand:
    """The optimization steps that a program makes by hand, without an optimizer."""

    def __init__(self, run: ProgramRun, meet: Meet) -> None:
        self.run = run
        self.meet = meet
        self.event = 0
        self.used: dict[int, _Used] = {}  # by leaf
        self.read: dict[int, tuple[Any, Any]] = {}  # leaves and gradients
        run.engine.watch_gradients(self.read)

    def look(self, optimized: Iterable[Any]) -> None:
        """Find the steps since the last backward pass, and report gradients used twice.

        Parameters of an optimizer are ignored.
        """
        events = self.run.engine.events
        began, self.event = self.event, len(events)
        info = self.run.engine.info
        theirs = {info(parameter).storage.number for parameter in optimized}
        read = [
            (leaf, gradient)
            for leaf, gradient in self.read.values()
            if info(leaf).storage.number not in theirs
            and not getattr(leaf, "_is_flat_param", False)
        ]  # but what FSDP joins, whose parts an optimizer steps
        self.read.clear()
        steps, left = self.steps(events[began:], read) if read else ({}, set())
        for key, step in steps.items():
            earlier = self.used.pop(key, None)
            if earlier is not None and earlier.gradient is step.gradient:
                earlier.told(self.meet)
            if key in left:
                self.used[key] = step
        self.used = {
            key: used
            for key, used in self.used.items()
            if self.run.grad(used.leaf) is used.gradient
        }

    def steps(
        self, events: list[tuple[Any, ...]], read: list[tuple[Any, Any]]
    ) -> tuple[dict[int, _Used], set[int]]:
        """Return the steps by leaf, and the leaves with gradients not cleared since."""
        info = self.run.engine.info
        leaves = {info(leaf).storage.number: (leaf, grad) for leaf, grad in read}
        grads = {info(grad).storage.number: leaf for leaf, grad in read}
        storages = set(grads)  # storages of what was made of gradients
        steps: dict[int, _Used] = {}
        left: set[int] = set()
        for answer, ins, outs, site, _ in events:
            if not any(info.storage.number in storages for info in ins):
                continue
            for storage in {out.storage.number for out in outs}:
                if storage in grads:
                    key = id(grads[storage])
                    if answer.kind == INPLACE and key in steps:
                        left.discard(key)
                    elif answer.kind == INPLACE and get_plain_name(answer.func) in ANEW:
                        self.used.pop(key, None)
                elif storage in leaves:
                    leaf, grad = leaves[storage]
                    place = get_site_line(site[0]) if site else None
                    if place is not None:
                        steps[id(leaf)] = _Used(leaf, grad, grad._version, place)
                        left.add(id(leaf))
                else:
                    storages.add(storage)
        return steps, left

    def after_backward(self, place: Place) -> None:
        """Note whether a backward pass added to gradients that a step has used."""
        for used in self.used.values():
            gradient = self.run.grad(used.leaf)
            if gradient is not used.gradient or gradient._version != used.version:
                used.piled = used.piled or place
                used.gradient = gradient


READS = operators_with("takes_program_data")
"""Calls that make tensors of numbers that the program has."""


class Weights:
    """The weights that were loaded before the first step of an optimizer."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.first: int | None = None  # events before the first step
        self.read = False  # a file of tensors was
        self.loaded: dict[int, Any] = {}  # parameters that a state dict was put into

    def stepping(self) -> None:
        """Note that an optimizer is about to step."""
        if self.first is None:
            self.first = len(self.engine.events)

    def reading(self) -> None:
        """Note that a file is loaded."""
        self.read |= self.first is None

    def note_load(self, module: nn.Module) -> None:
        """Note that a state dict was loaded into a module."""
        if self.first is None:
            self.loaded.update(
                (id(parameter), parameter) for parameter in module.parameters()
            )

    def are_as_made(self, parameters: Collection[Any]) -> bool:
        """Return whether all parameters still have their initial random values.

        False if that is unknown: for parameters from before the run, and after loaded
        files that did not become state dicts.
        """
        if self.read and not self.loaded:
            return False
        engine = self.engine
        infos = [engine.info(parameter) for parameter in parameters]
        if any(info.kind == THEIRS for info in infos):
            return False
        if any(id(parameter) in self.loaded for parameter in parameters):
            return False
        storages = {info.storage.number for info in infos}
        return storages.isdisjoint(_find_brought(engine.events[: self.first]))


def _find_brought(events: Iterable[tuple[Any, ...]]) -> set[int]:
    """Return the storages whose values come, directly or not, from outside the run."""
    computed: set[int] = set()
    brought: set[int] = set()
    for answer, ins, outs, *_ in events:
        theirs = (
            not isinstance(answer.func, str) and get_plain_name(answer.func) in READS
        )
        operands = {info.storage.number for info in ins}
        if theirs or not operands <= computed or not brought.isdisjoint(operands):
            brought.update(out.storage.number for out in outs)
        computed.update(out.storage.number for out in outs)
    return brought
