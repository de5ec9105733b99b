"""Gradients beside values, and graphs of backward passes that stay alive."""

from __future__ import annotations

import gc
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.record.report import Gradient, Place

if TYPE_CHECKING:
    from shapewright.engine.module_calls import Calls, RunningCall


MOST = 4000
"""Modules whose outputs are looked at, at most."""

Described = tuple[tuple[int, ...], str, str]
"""A shape, a dtype and a layout."""


class Gradients:
    """The first gradient of each module's output and of each parameter."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.outputs: dict[str, Described] = {}
        self.order: dict[str, int] = {}
        self.came: dict[str, Described] = {}
        self.parameters: dict[int, Described] = {}

    def called(self, call: RunningCall, out: Any) -> None:
        """Register a hook on the output of a module that notes its gradient."""
        path = call.path
        if path in self.outputs or len(self.outputs) >= MOST:
            return
        with torch._C.DisableTorchFunction():
            tensor = _find_first_trained(out)
            if tensor is None or not torch.is_grad_enabled():
                return
            self.outputs[path] = _describe_tensor(tensor)
            self.order[path] = call.index
            if tensor.requires_grad and not tensor.is_leaf:
                tensor.register_hook(partial(self.note_backward, path))

    def note_backward(self, path: str, gradient: Any) -> None:
        """Note the gradient of a module's output; torch passes None where a later call
        used another output only.
        """
        if gradient is None:
            return
        with torch._C.DisableTorchFunction():
            self.came.setdefault(path, _describe_tensor(gradient))

    def had(self, parameter: Any, gradient: Any) -> None:
        """Note the gradient of a parameter."""
        if id(parameter) not in self.parameters:
            self.parameters[id(parameter)] = _describe_tensor(gradient)

    def told(self) -> tuple[Gradient, ...]:
        """Return all gradients, by module in the order in which modules first ran."""
        if not self.parameters and not self.came:
            return ()
        gradients: list[Gradient] = []
        paths = {path: key for key, path in self.calls.paths.items()}
        trained = {path.partition(".")[0] for path in self.came}
        listed: set[int] = set()
        with torch._C.DisableTorchFunction():
            for path in sorted(self.outputs, key=self.order.__getitem__):
                value = self.outputs[path]
                if path.partition(".")[0] not in trained:
                    continue
                gradients.append(
                    _make_gradient_record(path, "output", value, self.came.get(path))
                )
                module = self.calls.alive.get(paths.get(path, 0))
                if module is not None:
                    gradients += self.own(path, module, listed)
        return tuple(gradients)

    def own(self, path: str, module: nn.Module, listed: set[int]) -> list[Gradient]:
        """Return the gradients of a module's own parameters, without duplicates."""
        gradients = []
        for name, parameter in module._parameters.items():
            if parameter is None or id(parameter) in listed:
                continue
            listed.add(id(parameter))
            full = f"{path}.{name}" if path else name
            gradient = self.parameters.get(id(parameter))
            if parameter.requires_grad or gradient is not None:
                gradients.append(
                    _make_gradient_record(
                        full, "parameter", _describe_tensor(parameter), gradient
                    )
                )
            else:
                gradients.append(
                    _make_gradient_record(
                        full, "frozen", _describe_tensor(parameter), None
                    )
                )
        return gradients


def _make_gradient_record(
    path: str, kind: str, value: Described, gradient: Described | None
) -> Gradient:
    """Return the record of a value and its gradient, if it has one."""
    shape, dtype, _ = value
    if gradient is None:
        return Gradient(path, kind, shape, dtype)
    return Gradient(path, kind, shape, dtype, *gradient)


def _find_first_trained(out: Any) -> Any:
    """Return the first tensor of an output, preferably one that requires a gradient."""
    if isinstance(out, torch.Tensor):
        return out
    if isinstance(out, dict):
        out = list(out.values())
    if not isinstance(out, list | tuple):
        return None
    tensors = [item for item in out if isinstance(item, torch.Tensor)]
    trained = (tensor for tensor in tensors if tensor.requires_grad)
    return next(trained, next(iter(tensors), None))


def _describe_tensor(tensor: Any) -> Described:
    """Return the shape, dtype and layout of a tensor."""
    dtype, layout = str(tensor.dtype), str(tensor.layout)
    names = dtype.removeprefix("torch."), layout.removeprefix("torch.")
    return tuple(tensor.shape), *names


class _Sentinel:
    """An object that lives as long as the graph that references it."""

    __slots__ = ("__weakref__", "place")

    def __init__(self, place: Place) -> None:
        self.place = place


def _find_divided_loss(node: Any) -> Any:
    """Return the node of the undivided loss if `node` only divides or multiplies it."""
    if node.name() not in ("DivBackward0", "MulBackward0"):
        return None
    first = node.next_functions[0][0] if node.next_functions else None
    return first if first is not None and "Accumulate" not in first.name() else None


class Graphs:
    """The autograd graphs of the backward passes in one loop, by place and iteration.

    Of several passes of a place in one iteration, as of an outer loop, the last counts.
    """

    def __init__(self) -> None:
        self.whole: dict[Place, dict[int, weakref.ref[_Sentinel]]] = {}
        self.inner: dict[
            Place, dict[int, weakref.ref[_Sentinel]]
        ] = {}  # divided before
        self.collected: set[Place] = set()  # kept although garbage was collected

    def add(self, marks: tuple[_Sentinel | None, ...], turn: int) -> None:
        """Note the marks of a graph whose backward pass is about to run."""
        for mark, graphs in zip(marks, (self.whole, self.inner), strict=True):
            if mark is not None:
                graphs.setdefault(mark.place, {})[turn] = weakref.ref(mark)

    def kept(self, ran: int) -> Place | None:
        """Return where the graphs were made if all earlier ones are still alive."""
        for graphs in (*self.whole.values(), *self.inner.values()):
            old = [mark for turn, mark in graphs.items() if turn < ran - 1]
            if ran < 3 or len(graphs) < 3:
                continue
            alive = [mark() for mark in old]
            if not alive or alive[0] is None or None in alive:
                continue
            place = alive[0].place
            if place not in self.collected:
                alive.clear()
                gc.collect()
                if any(mark() is None for mark in old):
                    continue
                self.collected.add(place)
            return place
        return None


def track_graph(loss: Any, place: Place) -> tuple[_Sentinel | None, ...]:
    """Mark the graph of a loss, and that of the loss before it was divided."""
    with torch._C.DisableTorchFunction():
        node = loss.grad_fn
        nodes = (node, _find_divided_loss(node) if node is not None else None)
        marks = []
        for start in nodes:
            mark = _Sentinel(place) if start is not None else None
            if start is not None:
                start.metadata["shapewright"] = mark
            marks.append(mark)
        return tuple(marks)
