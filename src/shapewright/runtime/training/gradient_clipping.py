"""Calls that clip gradients: after the step that has used them, or while a scaler has
them scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from math import isinf
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.nn.utils import clip_grad

from shapewright.engine.replacement import replace_attribute
from shapewright.record.report import Place

if TYPE_CHECKING:
    from shapewright.runtime.training.story import Meet, ProgramRun

Gradient = tuple[Any, Any, int]
"""A parameter, its gradient, and the version of the gradient."""

NAMES = ("clip_grad_norm_", "clip_grad_value_")


class _GradientFacts(Protocol):
    """What is known of the gradients of a run."""

    run: ProgramRun
    watched: list[Any]

    @property
    def meet(self) -> Meet: ...

    def present(self, parameters: Iterable[Any]) -> list[Gradient]: ...
    def is_as_before(self, gradient_entry: Gradient) -> bool: ...


class Clippings:
    """The calls of a run that clip gradients, and what their gradients were then."""

    def __init__(self, facts: _GradientFacts) -> None:
        self.facts = facts
        self.timely: set[int] = set()  # optimizers whose new gradients were clipped
        self.late: dict[int, tuple[Place, Place, str]] = {}  # by the optimizer
        self.early: dict[int, tuple[Place, str]] = {}  # before there was a gradient
        self.scaled: dict[int, tuple[Place, str]] = {}  # by the optimizer
        self.fresh: dict[int, list[Gradient]] = {}  # of the last pass
        self.scalers: list[Any] = []

    def after_backward(self) -> None:
        """Note the gradients that a backward pass has left."""
        for watched in self.facts.watched:
            self.fresh[id(watched)] = self.facts.present(watched.parameters())

    def note(self, parameters: list[Any]) -> None:
        """Note that the gradients of these parameters are about to be clipped."""
        facts, clipped = self.facts, {id(parameter) for parameter in parameters}
        for watched in facts.watched:
            if not any(id(parameter) in clipped for parameter in watched.parameters()):
                continue
            used = [entry for entry in watched.used if id(entry[0]) in clipped]
            if used and watched.stepped and all(map(facts.is_as_before, used)):
                place = facts.run.here()
                self.late.setdefault(
                    id(watched), (place, watched.stepped, watched.name)
                )
                continue
            if not facts.present(watched.parameters()):
                self.early.setdefault(id(watched), (facts.run.here(), watched.name))
                continue
            self.timely.add(id(watched))
            fresh = self.fresh.get(id(watched), [])
            optimizer = watched.optimizer()
            if any(scaler.has_scaled(optimizer) for scaler in self.scalers) and all(
                map(facts.is_as_before, fresh)
            ):
                self.scaled[id(optimizer)] = facts.run.here(), watched.name

    def before_scaled_step(self, optimizer: Any) -> None:
        """Note that a scaler divides gradients by its scale only now."""
        clipping = self.scaled.pop(id(optimizer), None)
        if clipping is not None:
            here = self.facts.run.here()
            self.facts.meet("clipped-scaled", clipping[0], here, clipping[1])

    def look_at_late(self) -> None:
        """Report calls that clip what a step has used, or what no backward pass has
        filled yet, where none comes between the two.
        """
        for key, (place, name) in self.early.items():
            if key not in self.timely:
                self.facts.meet("clipped-early", place, None, name)
        for key, (place, stepped, name) in self.late.items():
            if key not in self.timely:
                self.facts.meet("clipped-late", place, stepped, name)


@contextmanager
def watch_clipping(clippings: Clippings) -> Iterator[None]:
    """Note the calls of torch's functions that clip gradients."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def clip(parameters: Any, limit: Any = None, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(parameters, torch.Tensor | list):
                parameters = list(parameters)
            many = [parameters] if isinstance(parameters, torch.Tensor) else parameters
            most = kwargs.get("max_norm", kwargs.get("clip_value", limit))
            if isinstance(most, int | float) and not isinf(most):
                clippings.note(many)
            limits = () if limit is None else (limit,)
            return original(parameters, *limits, *args, **kwargs)

        return clip

    with ExitStack() as stack:
        for name in NAMES:
            for owner in (torch.nn.utils, clip_grad):
                stack.enter_context(replace_attribute(owner, name, make))
        yield
