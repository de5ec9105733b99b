"""Backward passes, optimizers and schedulers: what a training loop does to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from shapewright.capture.rehearsal.probing import Probes
from shapewright.capture.rehearsal.replaying import Replays, steps_replayed
from shapewright.capture.replacement import replaced

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


FIRST = 2
"""Backward passes of one line after which gradients are counted."""


@contextmanager
def steps_watched(stage: Stage) -> Iterator[None]:
    """Tell the story of each backward pass, step and change of mode."""
    with ExitStack() as stack:
        replays = stack.enter_context(steps_replayed(stage))
        for owner, name, make in (
            (torch.Tensor, "backward", backward(stage)),
            (Optimizer, "zero_grad", cleared(stage)),
            (nn.Module, "zero_grad", cleared(stage)),
            (Optimizer, "__init__", built(stage, replays)),
            (LRScheduler, "step", scheduled(stage)),
            (nn.Module, "train", mode(stage)),
        ):
            stack.enter_context(replaced(owner, name, make))
        before = register_optimizer_step_pre_hook(stepped(stage, replays))
        stack.callback(before.remove)
        after = register_optimizer_step_post_hook(
            lambda optimizer, args, kwargs: stage.facts.after_step(optimizer)
        )
        stack.callback(after.remove)
        yield


def backward(stage: Stage) -> Callable[[Any], Any]:
    """`loss.backward()`."""
    running = [False]
    probes = Probes(stage)

    def make(original: Any) -> Any:
        @wraps(original)
        def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if running[0]:  # torch hands it to the run's mode, which calls it again
                return original(self, *args, **kwargs)
            meta = stage.engine.info(self).meta
            node = stage.story.happened(stage.engine, "backward")
            node.shapes.setdefault(f"{meta.shape} {meta.dtype}")
            stage.trained += 1
            stage.facts.before_backward(self)
            probes.before_backward()
            running[0] = True
            try:
                out = original(self, *args, **kwargs)
                stage.facts.after_backward()
                if node.count <= FIRST:
                    node.text = stage.facts.reached() or node.text
                return out
            finally:
                running[0] = False

        return backward

    return make


def cleared(stage: Stage) -> Callable[[Any], Any]:
    """`zero_grad()` of an optimizer or a module."""

    def make(original: Any) -> Any:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            stage.story.happened(stage.engine, "zero_grad", type(self).__name__)
            stage.facts.cleared()
            stage.facts.clearing(self, parameters_of(self))
            return original(self, *args, **kwargs)

        return zero_grad

    return make


def parameters_of(owner: Any) -> Iterator[Any]:
    """Those of an optimizer or a module."""
    if isinstance(owner, nn.Module):
        yield from owner.parameters()
        return
    for group in owner.param_groups:
        yield from group["params"]


def built(stage: Stage, replays: Replays) -> Callable[[Any], Any]:
    """An optimizer is constructed."""

    def make(original: Any) -> Any:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            stage.facts.built(self)
            replays.watch(self)

        return __init__

    return make


def scheduled(stage: Stage) -> Callable[[Any], Any]:
    """A step of a scheduler; its first is made by itself."""

    def make(original: Any) -> Any:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            count = getattr(self, "_step_count", 0)
            if count >= 1:
                name = type(self).__name__
                node = stage.story.happened(stage.engine, "schedule", name)
                node.total = getattr(self, "total_steps", None)
                watched = stage.facts.of(self.optimizer)
                if count == 1 and watched is not None and watched.stepped is None:
                    place = stage.facts.here()
                    stage.facts.meet("scheduled-first", place, None, name)
                    watched.early = "scheduled-first", place, None, name
            return original(self, *args, **kwargs)

        return step

    return make


def stepped(stage: Stage, replays: Replays) -> Callable[..., None]:
    """Before each step of any optimizer."""

    def step(optimizer: Any, args: Any, kwargs: Any) -> None:
        stage.trained += 1
        stage.steps += 1
        stage.facts.before_step(optimizer)
        replays.meet(optimizer)
        stage.story.happened(stage.engine, "step", type(optimizer).__name__)

    return step


def mode(stage: Stage) -> Callable[[Any], Any]:
    """`model.train()` and `model.eval()`; a module's children are not told of."""
    inside = [False]

    def make(original: Any) -> Any:
        def train(self: Any, mode: bool = True) -> Any:
            if inside[0]:
                return original(self, mode)
            inside[0] = True
            try:
                kind = "train" if mode else "eval"
                stage.story.happened(stage.engine, kind, type(self).__name__)
                stage.facts.mode(self, mode)
                return original(self, mode)
            finally:
                inside[0] = False

        return train

    return make
