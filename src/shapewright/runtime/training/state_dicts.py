"""States of models that are kept: `state_dict()` holds the parameters themselves.

One that is loaded again after steps of an optimizer changes nothing, unless it was
copied: it has become what the model is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.record.report import Place

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import Stage


class States:
    """Where the tensors of states were taken from models, and after how many steps."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.taken: dict[int, tuple[Place, int]] = {}  # by the number of a tensor

    def take(self, module: nn.Module, state: Any) -> None:
        """A program took a state, which holds the parameters' own storages."""
        where = self.stage.here(), self.stage.steps
        for _, _, given in self.trained(module, state):
            self.taken[self.stage.engine.info(given).number] = where

    def load(self, module: nn.Module, state: Any) -> None:
        """A program loads a state: is it of the model itself, from before a step?"""
        stage = self.stage
        engine, taken = stage.engine, list[tuple[Place, int]]()
        trained = list(self.trained(module, state))
        stepped = {key for each in stage.facts.watched for key in each.held}
        for key, parameter, given in trained:
            same = engine.info(given).storage is engine.info(parameter).storage
            known = self.taken.get(engine.info(given).number)
            if not same or known is None or key not in stepped:
                return
            taken.append(known)
        if taken and all(steps < stage.steps for _, steps in taken):
            name = type(module).__name__
            stage.facts.meet("state-not-copied", taken[0][0], stage.here(), name)

    def trained(
        self, module: nn.Module, state: Any
    ) -> Iterator[tuple[int, Any, torch.Tensor]]:
        """Parameters that are trained, and what a state has for each."""
        if not isinstance(state, dict):
            return
        with torch._C.DisableTorchFunction():
            for name, parameter in module.named_parameters():
                given = state.get(name)
                if parameter.requires_grad and isinstance(given, torch.Tensor):
                    yield id(parameter), parameter, given


@contextmanager
def states_watched(stage: Stage) -> Iterator[None]:
    """Listen to what takes states from models and loads them."""
    from shapewright.engine.replacement import replaced

    states = States(stage)
    with ExitStack() as stack:
        stack.enter_context(replaced(nn.Module, "state_dict", taking(states)))
        stack.enter_context(replaced(nn.Module, "load_state_dict", loading(states)))
        yield


def taking(states: States) -> Callable[[Any], Any]:
    """`model.state_dict()`, which asks its children for theirs."""
    inside = [False]

    def make(original: Any) -> Any:
        @wraps(original)
        def state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
            if inside[0]:
                return original(self, *args, **kwargs)
            inside[0] = True
            try:
                state = original(self, *args, **kwargs)
            finally:
                inside[0] = False
            states.take(self, state)
            return state

        return state_dict

    return make


def loading(states: States) -> Callable[[Any], Any]:
    """`model.load_state_dict(state)`."""

    def make(original: Any) -> Any:
        @wraps(original)
        def load_state_dict(self: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
            states.load(self, state)
            return original(self, state, *args, **kwargs)

        return load_state_dict

    return make
