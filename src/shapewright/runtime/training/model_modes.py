"""Modes in which models train and are evaluated, and outputs no backward pass reaches.

Without `no_grad` an output that is only evaluated looks like an output that is trained
on. The difference shows only when backward passes run, so the results computed from
outputs are followed until then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.identity import Info
from shapewright.record.report import Place
from shapewright.runtime.training.story import get_site_line

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.module_calls import RunningCall
    from shapewright.runtime.training.story import Meet, ProgramRun

ACTS_OTHERWISE = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
"""Layers that behave differently in training and in evaluation."""


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """A model that was called at a line, in an iteration that trains nothing."""

    place: Place
    name: str
    model: int


class _Evaluations:
    """The model outputs of a rehearsal that may come from evaluations."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.event = 0
        self.waiting: dict[int, _Evaluated] = {}  # by the number of the output
        self.of: dict[int, frozenset[int]] = {}  # which outputs a tensor is made of
        self.used: set[int] = set()
        self.trained: set[Place] = set()  # where backward passes came

    def add(self, evaluated: _Evaluated, outputs: list[Info], event: int) -> None:
        """Add outputs that require gradients; the iteration began at `event`."""
        if evaluated.place in self.trained:
            return
        if not self.waiting:
            self.event = event
        for info in outputs:
            self.waiting[info.number] = evaluated
            self.of[info.number] = frozenset({info.number})

    def follow(self) -> None:
        """Find the results that were computed from the outputs since the last call."""
        events = self.engine.events
        began, self.event = self.event, len(events)
        for _, ins, outs, *_ in events[began:] if self.waiting else ():
            numbers = [info.number for info in ins if info.number in self.of]
            if not numbers:
                continue
            self.used.update(numbers)
            come = frozenset[int]().union(*(self.of[number] for number in numbers))
            for out in outs:
                if out.meta.requires_grad:
                    self.of[out.number] = self.of.get(out.number, come) | come

    def before_backward(self, loss: Info) -> None:
        """Mark the outputs from which a loss was computed as trained."""
        self.follow()
        reached = self.of.get(loss.number, frozenset())
        self.trained |= {self.waiting[n].place for n in reached if n in self.waiting}
        self.waiting = {
            number: evaluated
            for number, evaluated in self.waiting.items()
            if evaluated.place not in self.trained
        }
        if not self.waiting:
            self.of.clear()

    def left(self) -> Iterator[_Evaluated]:
        """Yield calls whose outputs were used but not reached by a backward pass."""
        self.follow()
        for number, evaluated in self.waiting.items():
            if number in self.used:
                yield evaluated


def _is_reaching(engine: Engine, call: RunningCall, loss: Info) -> bool:
    """Return whether the backward pass of a loss reaches the output of a model's call.

    It is assumed to if no tensor of the output is known.
    """
    outputs = {info.number for info in _collect_infos(call.output)}
    wanted = {loss.number}
    for _, ins, outs, *_ in reversed(engine.events[call.end :]):
        if any(out.number in wanted and out.meta.requires_grad for out in outs):
            wanted.update(info.number for info in ins if info.meta.requires_grad)
    return not outputs or bool(outputs & wanted)


def _collect_infos(nest: Any) -> list[Info]:
    """Return the infos in a nested structure."""
    if isinstance(nest, Info):
        return [nest]
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, list | tuple):
        return [info for item in nest for info in _collect_infos(item)]
    return []


class Modes:
    """The modes in which the models of a rehearsal were called."""

    def __init__(self, run: ProgramRun, meet: Meet) -> None:
        self.run = run
        self.meet = meet
        self.ran: set[int] = set()  # roots, before the last backward pass
        self.trained: set[int] = set()  # roots that were trained in training mode
        self.taught: set[str] = set()  # names of all models that were
        self.in_training: set[int] = set()  # calls of models in that mode
        self.ended: dict[int, Place] = {}  # where `eval()` was called on a root
        self.in_eval: list[tuple[int, tuple[Place, Place | None, str]]] = []
        self.loaded: dict[int, Place] = {}  # modules with weights of a file
        self.chosen: set[int] = set()  # modules that `train()` or `eval()` was told to
        self.used_as_loaded: dict[int, tuple[Place, Place, str]] = {}
        self.steps_before: dict[int, int] = {}  # the load of a module
        self.told_to_train: dict[int, Place] = {}  # where `train()` was called last
        self.used_as_told: dict[int, tuple[Place, Place, str]] = {}
        self.call = 0
        self.evaluations = _Evaluations(run.engine)

    def before_backward(self, place: Place, loss: Info) -> None:
        """Check the modes of the models that ran since the last backward pass."""
        self.evaluations.before_backward(loss)
        self.look_at_steps()
        calls = self.run.calls
        records, self.call = calls.records[self.call :], len(calls.records)
        least = min(
            (call.depth for call in records if call.key in calls.alive), default=0
        )
        self.ran = {call.key for call in records if call.depth == least}
        for call in records:
            root = calls.alive.get(call.key)
            if root is None:
                continue
            if root.training:
                self.taught.add(calls.paths.get(call.key, "").partition(".")[0])
            if call.depth > 1 or not _has_modal_layer(root):
                continue
            if root.training:
                self.trained.add(call.key)
                continue
            is_trained = call.key in self.trained and self.is_trained(call, loss)
            if is_trained and not _has_frozen_modes(root):
                passed = place, self.ended.get(call.key), call.name
                self.in_eval.append((self.run.count_steps(), passed))

    def look_at_steps(self) -> None:
        """Report backward passes in evaluation mode that a step of an optimizer has
        followed; a heat map of gradients trains nothing.
        """
        now = self.run.count_steps()
        for steps, (place, where, name) in self.in_eval:
            if now > steps:
                self.meet("trained-in-eval", place, where, name)
        self.in_eval = [entry for entry in self.in_eval if entry[0] == now]

    def is_trained(self, call: RunningCall, loss: Info) -> bool:
        """Return whether a backward pass reaches a call of a trainable model."""
        root = self.run.calls.alive[call.key]
        with torch._C.DisableTorchFunction():
            learns = any(parameter.requires_grad for parameter in root.parameters())
        return learns and _is_reaching(self.run.engine, call, loss)

    def called(self, call: Any) -> None:
        """Note whether a model was called in training mode."""
        if call.depth <= 1:
            root = self.run.calls.alive.get(call.key)
            if root is not None and root.training:
                self.in_training.add(call.index)
                self._look_at_loaded(call, root)

    def _look_at_loaded(self, call: Any, root: nn.Module) -> None:
        """Note a call without gradients of a model that is as it was loaded."""
        loaded = self.loaded.get(id(root))
        line = get_site_line(call.site[0]) if call.site else None
        if loaded is None or line is None or torch.is_grad_enabled():
            return
        if id(root) not in self.chosen and _has_modal_layer(root):
            self.used_as_loaded.setdefault(call.key, (line, loaded, call.name))
        begun = self.told_to_train.get(id(root))
        if begun is not None and _has_norms_alone(root):
            self.used_as_told.setdefault(call.key, (line, begun, call.name))

    def note_load(self, module: nn.Module) -> None:
        """Note that a module got weights that no model of the run holds."""
        self.loaded.setdefault(id(module), self.run.here())
        self.steps_before.setdefault(id(module), self.run.count_steps())

    def mode(self, module: Any, training: bool) -> None:
        """Note a call of `train()` or `eval()`."""
        self.chosen.add(id(module))
        if training:
            self.told_to_train[id(module)] = self.run.here()
        else:
            self.ended[id(module)] = self.run.here()

    def evaluated(self, called: int, event: int) -> None:
        """Check the mode of models in an iteration that read batches but trained none.

        The turn began at a call and an event.
        """
        calls = self.run.calls
        for call in calls.records[called:]:
            root = calls.alive.get(call.key) if call.depth == 1 else None
            if root is None or not _has_modal_layer(root):
                continue
            if call.index not in self.in_training:
                continue
            outputs = _collect_infos(call.output)
            line = get_site_line(call.site[0]) if call.site else None
            if line is None or not outputs:
                continue
            grads = [info for info in outputs if info.meta.requires_grad]
            if grads:
                evaluated = _Evaluated(line, call.name, call.key)
                self.evaluations.add(evaluated, grads, event)
            else:
                self.meet("evaluated-in-training", line, None, call.name)

    def look_at_loaded(self, learning: Collection[int]) -> None:
        """Report models that are loaded, never trained, and used in training mode;
        `learning` are the parameters that had a gradient or that an optimizer stepped.
        """
        for key, (line, loaded, name) in self.used_as_loaded.items():
            if key not in self.trained:
                self.meet("loaded-in-training", line, loaded, name)
        for key, (line, begun, name) in self.used_as_told.items():
            if key not in self.ended and self._is_only_used(key, learning):
                self.meet("told-to-train", line, begun, name)
        for evaluation in self.evaluations.left():
            key = evaluation.model
            if key not in self.chosen and self._is_only_used(key, learning):
                self.meet(
                    "loaded-with-graph", evaluation.place, self.loaded[key],
                    evaluation.name,
                )  # fmt: skip

    def _is_only_used(self, key: int, learning: Collection[int]) -> bool:
        """Return whether a model was loaded, and since then nothing was trained."""
        root = self.run.calls.alive.get(key)
        if root is None or key not in self.loaded or key in self.trained:
            return False
        if self.steps_before[key] != self.run.count_steps():
            return False
        with torch._C.DisableTorchFunction():
            return not any(id(part) in learning for part in root.parameters())

    def iter_unreached(self) -> Iterator[_Evaluated]:
        """Yield evaluations in training mode of models that are trained elsewhere."""
        for evaluation in self.evaluations.left():
            if evaluation.model in self.trained:
                yield evaluation


def _has_modal_layer(root: nn.Module) -> bool:
    """Return whether a model has layers that behave differently in training mode."""
    for module in root.modules():
        if isinstance(module, ACTS_OTHERWISE) and getattr(module, "p", 1.0) > 0:
            return True
    return False


def _has_norms_alone(root: nn.Module) -> bool:
    """Return whether batch norm in training mode, beside running statistics, is all
    that makes a model behave differently: dropout may be left on to draw several
    predictions.
    """
    modal = [part for part in root.modules() if isinstance(part, ACTS_OTHERWISE)]
    has_dropout = any(getattr(part, "p", 0.0) > 0 for part in modal)
    return not has_dropout and any(
        part.training and getattr(part, "running_mean", None) is not None
        for part in modal
    )


def _has_frozen_modes(root: nn.Module) -> bool:
    """Return whether all layers that behave differently in training mode are in frozen
    parts of a model: a new head is trained on the features of evaluation mode.
    """
    with torch._C.DisableTorchFunction():
        return not any(
            parameter.requires_grad
            for module in root.modules()
            if any(isinstance(part, ACTS_OTHERWISE) for part in module.children())
            for parameter in _iter_beside_modes(module, root)
        )


def _iter_beside_modes(module: nn.Module, root: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the parameters of the layers of a module beside a layer that behaves
    differently in training mode, and those of that layer.

    Of a whole model those of its batch norms only, unless it has a dropout of its own.
    """
    parts = list(module.children())
    has_dropout = any(isinstance(part, ACTS_OTHERWISE[0]) for part in parts)
    for part in parts:
        if has_dropout or isinstance(part, ACTS_OTHERWISE) or module is not root:
            yield from part.parameters()
