"""How training changes a model: backward passes, optimizers, schedulers, states.

A `state_dict()` holds the parameters themselves. Loading it again after steps of an
optimizer changes nothing, unless it was copied: it has followed the model.

Data-free kernels accept any two dtypes in a loss. Each pair is tried once on real
numbers.

The first step of an optimizer makes its state, the second shows how a step uses it. A
later step with the same parameters and gradients of the same metadata changes values
only: the versions of the tensors it writes rise, and its hooks are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.autograd.graph import increment_version
from torch.optim import Optimizer
from torch.optim import optimizer as optimizers
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from shapewright.engine.function_names import get_plain_name
from shapewright.engine.replacement import copy_attributes, replace_attribute
from shapewright.findings.codes import DTYPE_MISMATCH
from shapewright.record.report import Place
from shapewright.runtime.training.gradient_clipping import watch_clipping
from shapewright.runtime.training.gradients import track_graph
from shapewright.runtime.training.scheduler_calls import watch_schedulers

if TYPE_CHECKING:
    from shapewright.engine.identity import Info
    from shapewright.runtime.loops.loop_state import RehearsalState


TRUE_STEPS = 2
"""Equal steps in a row that run, before later ones are replayed."""

WITH_CLOSURE = frozenset({"LBFGS"})


class _Replays:
    """The last steps of the optimizers in a run, of which repetitions are replayed."""

    def __init__(self, stage: RehearsalState) -> None:
        self.stage = stage
        self.last: dict[int, tuple[Any, int]] = {}
        self.patched: dict[type, Any] = {}

    def meet(self, optimizer: Any) -> None:
        """Count this step as the first of an optimizer built before the run."""
        if type(optimizer) not in self.patched:
            self.watch(optimizer)
            self.last[id(optimizer)] = self.key(optimizer), 1

    def watch(self, optimizer: Any) -> None:
        """Patch the `step` of torch's optimizer classes to replay repeated steps."""
        kind = type(optimizer)
        own = kind.__module__.startswith("torch.optim.") and "step" in vars(kind)
        if own and kind not in self.patched and kind.__name__ not in WITH_CLOSURE:
            self.patched[kind] = kind.step
            kind.step = copy_attributes(self.wrap_step(kind.step), kind.step)

    def wrap_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the `step` of a class to run only if it may do something new."""

        def step(optimizer: Any, closure: Any = None) -> Any:
            is_whole = closure is not None or self.stage.memory is not None
            key = None if is_whole else self.key(optimizer)
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
        """Return a key of the parameters, gradient metadata and settings."""
        settings: list[Any] = []
        with torch._C.DisableTorchFunction():
            for group in optimizer.param_groups:
                for name, value in group.items():
                    if name != "params":
                        zero = value == 0 if isinstance(value, int | float) else None
                        settings.append((name, type(value), zero))
                for parameter in group["params"]:
                    gradient = self.stage.grad(parameter)
                    if gradient is None:
                        settings.append(id(parameter))
                    else:
                        gradient_kind = gradient.shape, gradient.dtype, gradient.layout
                        settings.append((id(parameter), parameter.dtype, gradient_kind))
        return settings

    def replay(self, optimizer: Any) -> None:
        """Perform the side effects of a step: hooks, step counts and marked writes."""
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
                    if self.stage.grad(parameter) is None:
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
        """Restore the `step` of all patched classes."""
        for kind, original in self.patched.items():
            kind.step = original  # type: ignore[attr-defined]


@contextmanager
def _replay_steps(stage: RehearsalState) -> Iterator[_Replays]:
    """Replay repeated optimizer steps in the block."""
    replays = _Replays(stage)
    try:
        yield replays
    finally:
        replays.put_back()


class _Probes:
    """The pairs of dtypes that were tried in losses, and torch's errors for them."""

    def __init__(self, stage: RehearsalState) -> None:
        self.stage = stage
        self.event = 0
        self.known: dict[Any, str | None] = {}

    def before_backward(self) -> None:
        """Report the losses since the last pass whose backward pass torch rejects."""
        engine = self.stage.engine
        events, self.event = engine.events[self.event :], len(engine.events)
        for answer, ins, _, _, _ in events:
            name = "" if isinstance(answer.func, str) else get_plain_name(answer.func)
            if not name.endswith("_loss") or len(ins) != 2:
                continue
            prediction, target = ins[0].meta, ins[1].meta
            if prediction.dtype == target.dtype or not prediction.requires_grad:
                continue
            key = answer.func, prediction.torch_dtype, target.torch_dtype
            if key not in self.known:
                self.known[key] = _find_refusal(*key)
            refusal = self.known[key]
            if refusal is not None:
                engine.find(
                    DTYPE_MISMATCH,
                    f"the backward pass of `F.{name}` needs both in {prediction.dtype},"
                    f" the target is {target.dtype}",
                    refusal,
                )


def _find_refusal(
    func: Any, dtype: torch.dtype, target_dtype: torch.dtype
) -> str | None:
    """Return torch's error in the backward pass of a loss of two dtypes, or None."""
    with torch._C.DisableTorchFunction(), torch.enable_grad():
        prediction = torch.ones(2, dtype=dtype).requires_grad_()
        try:
            loss = func(prediction, torch.ones(2).to(target_dtype))
        except Exception:  # forward was asked already
            return None
        try:
            loss.sum().backward()
        except RuntimeError as error:
            return str(error)
    return None


FIRST = 2
"""Backward passes of a line for which gradients are counted, at most."""


@contextmanager
def watch_steps(stage: RehearsalState) -> Iterator[None]:
    """Add each backward pass, optimizer step and change of mode to the story."""
    with ExitStack() as stack:
        stage.engine.watch_differentiation(partial(_note_graph, stage))
        stack.callback(stage.engine.watch_differentiation, None)
        replays = stack.enter_context(_replay_steps(stage))
        stack.enter_context(watch_clipping(stage.facts.clippings))
        stack.enter_context(watch_schedulers(stage))
        stage.engine.watch_flags(stage.facts.thawed.note_flag)
        stack.callback(stage.engine.watch_flags, None)
        for owner, name, make in (
            (torch.Tensor, "backward", _make_backward(stage)),
            (Optimizer, "zero_grad", _make_zero_grad(stage)),
            (nn.Module, "zero_grad", _make_zero_grad(stage)),
            (Optimizer, "__init__", _make_constructor(stage, replays)),
            (nn.Module, "train", _make_train(stage)),
        ):
            stack.enter_context(replace_attribute(owner, name, make))
        before = register_optimizer_step_pre_hook(_make_step_hook(stage, replays))
        stack.callback(before.remove)
        after = register_optimizer_step_post_hook(
            lambda optimizer, args, kwargs: stage.facts.after_step(optimizer)
        )
        stack.callback(after.remove)
        yield


def _make_backward(stage: RehearsalState) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `Tensor.backward`."""
    running = [False]
    probes = _Probes(stage)

    def make(original: Any) -> Any:
        @wraps(original)
        def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
            if running[0]:  # torch hands it to the run's mode, which calls it again
                return original(self, *args, **kwargs)
            meta = stage.engine.info(self).meta
            node = stage.story.note_event(stage.engine, "backward")
            node.shapes.setdefault(f"{meta.shape} {meta.dtype}")
            stage.trained += 1
            stage.facts.before_backward(self)
            _note_graph(stage, self)
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


def _note_graph(stage: RehearsalState, loss: Any) -> None:
    """Note, for the loops that run, the graph of a loss that is differentiated."""
    if stage.loops:
        marks = track_graph(loss, stage.here())
        for loop in stage.loops:
            loop.graphs.add(marks, loop.ran)


def _make_zero_grad(stage: RehearsalState) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `zero_grad`."""

    def make(original: Any) -> Any:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            stage.story.note_event(stage.engine, "zero_grad", type(self).__name__)
            stage.facts.cleared(self)
            stage.facts.note_clearing(self, _iter_parameters(self))
            return original(self, *args, **kwargs)

        return zero_grad

    return make


def _iter_parameters(owner: Any) -> Iterator[Any]:
    """Yield the parameters of an optimizer or a module."""
    if isinstance(owner, nn.Module):
        yield from owner.parameters()
        return
    for group in owner.param_groups:
        yield from group["params"]


def _make_constructor(stage: RehearsalState, replays: _Replays) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for the constructor of optimizers."""

    def make(original: Any) -> Any:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            stage.facts.built(self)
            replays.watch(self)

        return __init__

    return make


def _make_step_hook(stage: RehearsalState, replays: _Replays) -> Callable[..., None]:
    """Return the hook that runs before each step of any optimizer."""

    def step(optimizer: Any, args: Any, kwargs: Any) -> None:
        stage.trained += 1
        stage.steps += 1
        stage.facts.before_step(optimizer)
        replays.meet(optimizer)
        stage.story.note_event(stage.engine, "step", type(optimizer).__name__)

    return step


def _make_train(stage: RehearsalState) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `Module.train` (and `eval`)."""
    inside = [False]

    def make(original: Any) -> Any:
        def train(self: Any, mode: bool = True) -> Any:
            if inside[0]:
                return original(self, mode)
            inside[0] = True
            try:
                kind = "train" if mode else "eval"
                stage.story.note_event(stage.engine, kind, type(self).__name__)
                stage.facts.modes.mode(self, mode)
                stage.facts.statistics.note_mode(self, mode)
                return original(self, mode)
            finally:
                inside[0] = False

        return train

    return make


class _States:
    """The places where state dicts were taken, with the number of steps before each."""

    def __init__(self, stage: RehearsalState) -> None:
        self.stage = stage
        self.taken: dict[int, tuple[Place, int]] = {}  # by the number of a tensor
        self.shared: dict[int, list[int]] = {}  # the numbers taken of each storage

    def take(self, module: nn.Module, state: Any) -> None:
        """Note where a state dict was taken; it shares the parameters' storages."""
        where = self.stage.here(), self.stage.steps
        for _, _, tensor in self.trained(module, state):
            info = self.stage.engine.info(tensor)
            self.taken[info.number] = where
            self.shared.setdefault(info.storage.number, []).append(info.number)

    def _find_taken(self, info: Info) -> tuple[Place, int] | None:
        """Return where a tensor was taken, or what it is a view of: `v.detach()` in a
        new dict.
        """
        numbers = self.shared.get(info.storage.number, [])
        earlier = [number for number in numbers if number <= info.number]
        return self.taken[max(earlier)] if earlier else None

    def load(self, module: nn.Module, state: Any) -> None:
        """Report a loaded state dict that shares the storages of the model itself."""
        stage = self.stage
        engine = stage.engine
        trained = list(self.trained(module, state))
        stepped = {key for watched in stage.facts.watched for key in watched.held}
        taken = list[tuple[Place, int]]()
        for _, parameter, tensor in trained:
            same = engine.info(tensor).storage is engine.info(parameter).storage
            known = self._find_taken(engine.info(tensor))
            if not same or known is None:
                return
            taken.append(known)
        name = type(module).__name__
        if not taken:
            return
        if all(steps == stage.steps for _, steps in taken):
            stage.facts.meet("own-state", stage.here(), None, name)
        elif all(key in stepped for key, _, _ in trained) and all(
            steps < stage.steps for _, steps in taken
        ):
            stage.facts.meet("state-not-copied", taken[0][0], stage.here(), name)

    def is_of_model(self, state: Any) -> bool:
        """Return whether a state dict is one that a model of this run has given out."""
        tensors = state.values() if isinstance(state, dict) else ()
        numbers = [getattr(getattr(t, "_sw", None), "number", None) for t in tensors]
        return any(number in self.taken for number in numbers)

    def trained(
        self, module: nn.Module, state: Any
    ) -> Iterator[tuple[int, Any, torch.Tensor]]:
        """Yield a module's trainable parameters with their tensors in a state dict."""
        if not isinstance(state, dict):
            return
        with torch._C.DisableTorchFunction():
            for name, parameter in module.named_parameters():
                tensor = state.get(name)
                if parameter.requires_grad and isinstance(tensor, torch.Tensor):
                    yield id(parameter), parameter, tensor


@contextmanager
def watch_states(stage: RehearsalState) -> Iterator[None]:
    """Watch calls that take state dicts from models and load them."""
    from shapewright.engine.replacement import replace_attribute

    states = _States(stage)
    with ExitStack() as stack:
        stack.enter_context(
            replace_attribute(nn.Module, "state_dict", _make_state_dict(states))
        )
        stack.enter_context(
            replace_attribute(
                nn.Module, "load_state_dict", _make_load_state_dict(states)
            )
        )
        yield


def _make_state_dict(states: _States) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `Module.state_dict`."""
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


def _make_load_state_dict(states: _States) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `Module.load_state_dict`."""

    def make(original: Any) -> Any:
        @wraps(original)
        def load_state_dict(
            self: Any, state_dict: Any, *args: Any, **kwargs: Any
        ) -> Any:
            states.load(self, state_dict)
            states.stage.facts.statistics.note_load(self)
            if not states.is_of_model(state_dict):
                states.stage.facts.modes.note_load(self)
            return original(self, state_dict, *args, **kwargs)

        return load_state_dict

    return make
