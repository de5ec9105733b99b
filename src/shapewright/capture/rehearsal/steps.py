"""Backward passes, optimizers and schedulers: what a training loop does to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """An attribute of torch, replaced for the time of a block."""
    original = vars(owner)[name]
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


@contextmanager
def steps_watched(stage: Stage) -> Iterator[None]:
    """Tell the story of each backward pass, step and change of mode."""
    with ExitStack() as stack:
        for owner, name, make in (
            (torch.Tensor, "backward", backward(stage)),
            (Optimizer, "zero_grad", simple(stage, "zero_grad")),
            (nn.Module, "train", mode(stage)),
        ):
            stack.enter_context(replaced(owner, name, make))
        before = register_optimizer_step_pre_hook(stepped(stage))
        stack.callback(before.remove)
        yield


def backward(stage: Stage) -> Callable[[Any], Any]:
    """`loss.backward()`."""

    def make(original: Any) -> Any:
        def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
            meta = stage.engine.info(self).meta
            node = stage.story.happened(stage.engine, "backward")
            node.shapes.setdefault(f"{meta.shape} {meta.dtype}")
            stage.trained += 1
            return original(self, *args, **kwargs)

        return backward

    return make


def simple(stage: Stage, kind: str) -> Callable[[Any], Any]:
    """A call that is only told of."""

    def make(original: Any) -> Any:
        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            stage.story.happened(stage.engine, kind, type(self).__name__)
            return original(self, *args, **kwargs)

        return called

    return make


def stepped(stage: Stage) -> Callable[..., None]:
    """Before each step of any optimizer."""

    def step(optimizer: Any, args: Any, kwargs: Any) -> None:
        stage.trained += 1
        stage.steps += 1
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
                return original(self, mode)
            finally:
                inside[0] = False

        return train

    return make
