"""Gradients beside values, and models that no backward pass reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.identity import Info
from shapewright.record.report import Gradient, Place

if TYPE_CHECKING:
    from shapewright.engine.module_calls import Call, Calls
    from shapewright.runtime.loops.turns import Stage


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


MOST = 4000
"""Modules whose outputs are looked at."""

Described = tuple[tuple[int, ...], str, str]
"""A shape, a dtype and a layout."""


class Gradients:
    """What came back through each module and each parameter, at its first sight."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.outputs: dict[str, Described] = {}
        self.order: dict[str, int] = {}
        self.came: dict[str, Described] = {}
        self.parameters: dict[int, Described] = {}

    def called(self, call: Call, out: Any) -> None:
        """A module gave something; its gradient is noted when it comes."""
        path = call.path
        if path in self.outputs or len(self.outputs) >= MOST:
            return
        with torch._C.DisableTorchFunction():
            made = first_trained(out)
            if made is None or not torch.is_grad_enabled():
                return
            self.outputs[path] = described(made)
            self.order[path] = call.index
            if made.requires_grad and not made.is_leaf:
                made.register_hook(partial(self.back, path))

    def back(self, path: str, gradient: Any) -> None:
        """A gradient came to what a module gave."""
        with torch._C.DisableTorchFunction():
            self.came.setdefault(path, described(gradient))

    def had(self, parameter: Any, gradient: Any) -> None:
        """A parameter has a gradient."""
        if id(parameter) not in self.parameters:
            self.parameters[id(parameter)] = described(gradient)

    def told(self) -> tuple[Gradient, ...]:
        """All of them, modules in the order in which they first ran."""
        if not self.parameters and not self.came:
            return ()
        found: list[Gradient] = []
        paths = {path: key for key, path in self.calls.paths.items()}
        trained = {path.partition(".")[0] for path in self.came}
        told: set[int] = set()
        with torch._C.DisableTorchFunction():
            for path in sorted(self.outputs, key=self.order.__getitem__):
                value = self.outputs[path]
                if path.partition(".")[0] not in trained:
                    continue
                found.append(beside(path, "output", value, self.came.get(path)))
                module = self.calls.alive.get(paths.get(path, 0))
                if module is not None:
                    found += self.own(path, module, told)
        return tuple(found)

    def own(self, path: str, module: nn.Module, told: set[int]) -> list[Gradient]:
        """The parameters of a module itself, each once."""
        found = []
        for name, parameter in module._parameters.items():
            if parameter is None or id(parameter) in told:
                continue
            told.add(id(parameter))
            full = f"{path}.{name}" if path else name
            gradient = self.parameters.get(id(parameter))
            if parameter.requires_grad or gradient is not None:
                found.append(beside(full, "parameter", described(parameter), gradient))
            else:
                found.append(beside(full, "frozen", described(parameter), None))
        return found


def beside(
    path: str, kind: str, value: Described, gradient: Described | None
) -> Gradient:
    """The record of one."""
    shape, dtype, _ = value
    if gradient is None:
        return Gradient(path, kind, shape, dtype)
    return Gradient(path, kind, shape, dtype, *gradient)


def first_trained(out: Any) -> Any:
    """The first tensor of what a module gave, one with a graph if there is any."""
    if isinstance(out, torch.Tensor):
        return out
    if isinstance(out, dict):
        out = list(out.values())
    if not isinstance(out, list | tuple):
        return None
    tensors = [each for each in out if isinstance(each, torch.Tensor)]
    trained = (each for each in tensors if each.requires_grad)
    return next(trained, next(iter(tensors), None))


def described(tensor: Any) -> Described:
    """Shape, dtype, layout."""
    dtype, layout = str(tensor.dtype), str(tensor.layout)
    names = dtype.removeprefix("torch."), layout.removeprefix("torch.")
    return tuple(tensor.shape), *names
