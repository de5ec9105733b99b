"""Steps of torch's own optimizers, after the second: the same, so they are not run.

The first makes the state, the second shows what a step does with it. One that follows
with the same parameters and gradients of the same metadata changes values only: the
versions of what it writes rise, and its hooks are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.graph import increment_version
from torch.optim import optimizer as optimizers

from shapewright.capture.replacement import resemble

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage

TRUE_STEPS = 2
"""Steps of the same kind, one after the other, before one is not run."""

WITH_CLOSURE = frozenset({"LBFGS"})


class Replays:
    """What the optimizers of a run did last."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.last: dict[int, tuple[Any, int]] = {}
        self.patched: dict[type, Any] = {}

    def meet(self, optimizer: Any) -> None:
        """An optimizer steps that was made before the run: its step is the first."""
        if type(optimizer) not in self.patched:
            self.watch(optimizer)
            self.last[id(optimizer)] = self.key(optimizer), 1

    def watch(self, optimizer: Any) -> None:
        """Let the steps of an optimizer's class be replayed, where it is torch's."""
        kind = type(optimizer)
        own = kind.__module__.startswith("torch.optim.") and "step" in vars(kind)
        if own and kind not in self.patched and kind.__name__ not in WITH_CLOSURE:
            self.patched[kind] = kind.step
            kind.step = resemble(self.replayed(kind.step), kind.step)

    def replayed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The step of a class, run only where it may do something new."""

        def step(optimizer: Any, closure: Any = None) -> Any:
            key = None if closure is not None else self.key(optimizer)
            before, count = self.last.get(id(optimizer), (None, 0))
            if key is None or key != before or count < TRUE_STEPS:
                out = original(optimizer, closure)
                again = count + 1 if key == before else 1
                self.last[id(optimizer)] = key, again
                return out
            self.replay(optimizer)
            return None

        vars(step)["hooked"] = True  # torch wraps what has not this mark
        return step

    def key(self, optimizer: Any) -> Any:
        """Parameters and the metadata of their gradients, and the kind of settings."""
        found: list[Any] = []
        with torch._C.DisableTorchFunction():
            for group in optimizer.param_groups:
                for name, value in group.items():
                    if name != "params":
                        zero = value == 0 if isinstance(value, int | float) else None
                        found.append((name, type(value), zero))
                for parameter in group["params"]:
                    gradient = self.stage.facts.grad(parameter)
                    if gradient is None:
                        found.append(id(parameter))
                    else:
                        made = gradient.shape, gradient.dtype, gradient.layout
                        found.append((id(parameter), parameter.dtype, made))
        return found

    def replay(self, optimizer: Any) -> None:
        """What a step does besides computing."""
        hooks: Any = vars(optimizer)
        pre = hooks.get("_optimizer_step_pre_hooks", {})
        post = hooks.get("_optimizer_step_post_hooks", {})
        everywhere: Any = vars(optimizers)
        for hook in chain(
            pre.values(), everywhere["_global_optimizer_pre_hooks"].values()
        ):
            hook(optimizer, (optimizer,), {})
        with torch._C.DisableTorchFunction(), torch.no_grad():
            written = []
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if self.stage.facts.grad(parameter) is None:
                        continue
                    if parameter.is_meta:
                        written.append(parameter)
                    state = optimizer.state.get(parameter, {})
                    if type(state.get("step")) is int:  # of the sparse one
                        state["step"] += 1
                    for name, value in state.items():
                        if isinstance(value, torch.Tensor):
                            own = getattr(value, "_sw", None) is not None
                            if name == "step" and own and not value.is_meta:
                                value += 1
                            elif value.is_meta:
                                written.append(value)
            increment_version(written)
        for hook in chain(
            post.values(), everywhere["_global_optimizer_post_hooks"].values()
        ):
            hook(optimizer, (optimizer,), {})

    def put_back(self) -> None:
        """The classes as they were."""
        for kind, original in self.patched.items():
            kind.step = original  # type: ignore[attr-defined]


@contextmanager
def steps_replayed(stage: Stage) -> Iterator[Replays]:
    """For the time of a rehearsal."""
    replays = Replays(stage)
    try:
        yield replays
    finally:
        replays.put_back()
