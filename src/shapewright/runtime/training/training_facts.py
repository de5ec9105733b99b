"""Facts of a training: gradients that are kept, cleared and used, or never come."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from shapewright.engine.identity import BLANK, Info
from shapewright.record.report import Met, Optimized, Outside, Place, Training
from shapewright.runtime.training.gradients import (
    Evaluated,
    Evaluations,
    infos_in,
    leads_to,
)
from shapewright.runtime.training.parameter_writes import ByHand, Weights
from shapewright.runtime.training.story import line_of_site, shown

if TYPE_CHECKING:
    from shapewright.engine.module_calls import Call
    from shapewright.runtime.loops.turns import Stage

ACTS_OTHERWISE = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)
"""Layers that do something else in training than in evaluation."""

SAMPLE = 3
"""Parameters of an optimizer whose gradients are looked at after a backward pass."""

MOST_PATHS = 400


Gradient = tuple[Any, Any, int]
"""A parameter, its gradient, and the version of that."""


class Sentinel:
    """Lives as long as the graph that it hangs on."""

    __slots__ = ("__weakref__", "place")

    def __init__(self, place: Place) -> None:
        self.place = place


def divided(node: Any) -> Any:
    """The loss itself, where the backward pass is of a part or a multiple of it."""
    if node.name() not in ("DivBackward0", "MulBackward0"):
        return None
    first = node.next_functions[0][0] if node.next_functions else None
    return first if first is not None and "Accumulate" not in first.name() else None


class Watched:
    """One optimizer and what happened to its gradients."""

    def __init__(self, optimizer: Any, place: Place) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.name = type(optimizer).__name__
        self.built = place
        self.stepped: Place | None = None
        self.made: tuple[Place, list[Gradient]] | None = None  # before any step
        self.cleared: tuple[Place, Place] | None = None  # and where they were made
        self.early: tuple[str, Place, Place | None, str] | None = None  # a scheduler
        self.used: list[Gradient] = []  # by its last step
        self.piled: tuple[Place, list[Gradient]] | None = None  # on those, and where
        self.had: set[int] = set()
        self.held: dict[int, Any] = {}

    def parameters(self) -> Iterator[Any]:
        """What it optimizes now."""
        optimizer = self.optimizer()
        for group in optimizer.param_groups if optimizer is not None else ():
            yield from group["params"]


class Facts:
    """All that is watched of a training."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.watched: list[Watched] = []
        self.met: dict[tuple[str, Place, Place | None, str], int] = {}
        self.kept: list[tuple[int, Any]] = []  # turns of backward passes, sentinels
        self.unused: Place | None = None  # a backward pass that no step followed
        self.stepping = False  # an optimizer is, and may run a closure
        self.had: dict[int, Any] = {}  # parameters that had a gradient
        self.trained: set[int] = set()  # roots that were trained in training mode
        self.taught: set[str] = set()  # names of all models that were
        self.in_training: set[int] = set()  # calls of models in that mode
        self.ended: dict[int, Place] = {}  # where `eval()` was called on a root
        self.call = 0
        self.by_hand = ByHand(stage)
        self.weights = Weights(stage)
        self.evaluations = Evaluations(stage)

    def here(self) -> Place:
        return self.stage.story.line(self.stage.engine)

    def meet(
        self, kind: str, place: Place, other: Place | None = None, name: str = ""
    ) -> None:
        """Note something, once for each place."""
        key = kind, place, other, name
        self.met[key] = self.met.get(key, 0) + 1

    # -- what happens -----------------------------------------------------------------

    def built(self, optimizer: Any) -> None:
        """An optimizer is made."""
        self.watched.append(Watched(optimizer, self.here()))

    def of(self, optimizer: Any) -> Watched | None:
        """What is known of an optimizer."""
        return next((w for w in self.watched if w.optimizer() is optimizer), None)

    def before_backward(self, loss: Any) -> None:
        """A backward pass is about to run."""
        place = self.here()
        self.by_hand.look()
        self.evaluations.before_backward(self.stage.engine.info(loss))
        for watched in self.watched:
            if not all(map(self.is_as_before, watched.used)):  # a program's own zeros
                watched.used, watched.piled = [], None
        with torch._C.DisableTorchFunction():
            node = loss.grad_fn
            if node is not None and self.stage.loops:
                turns = self.stage.loops[-1]
                for each, graphs in (
                    (node, turns.graphs),
                    (divided(node), turns.inner),
                ):
                    if each is not None:
                        sentinel = Sentinel(place)
                        each.metadata["shapewright"] = sentinel
                        graphs.append((turns.ran, weakref.ref(sentinel)))
        self.unused = place
        self.roots(place, self.stage.engine.info(loss))

    def after_backward(self) -> None:
        """A backward pass ran: did it add to gradients that a step has used?"""
        for watched in self.watched:
            same = all(map(self.is_as_before, watched.used))
            if watched.stepped is None and self.unused is not None:
                before = watched.made[1] if watched.made is not None else []
                if not before or not all(map(self.is_as_before, before)):
                    made = self.gradients(watched.parameters())
                    watched.made = (self.unused, made) if made else None
            if self.unused is not None and not same:
                watched.used = self.gradients(each for each, _, _ in watched.used)
                watched.piled = self.unused, watched.used
        if self.unused is not None:
            with torch._C.DisableTorchFunction():
                self.by_hand.after_backward(self.unused)

    def grad(self, parameter: Any) -> Any:
        """The gradient of a parameter: of its stand-in, where it has values."""
        engine = self.stage.engine
        given = engine.grads.get(id(parameter))
        if given is not None:
            return given
        if not parameter.is_meta and engine.info(parameter).kind != BLANK:
            twin = engine.info(parameter).twin
            return None if twin is None else twin.grad
        return parameter.grad

    def gradients(self, parameters: Iterable[Any]) -> list[Gradient]:
        """The gradients of some parameters that have one, as they are now."""
        with torch._C.DisableTorchFunction():
            found = ((each, self.grad(each)) for each in parameters)
            there = ((each, grad) for each, grad in found if grad is not None)
            return [(p, grad, grad._version) for p, grad in islice(there, SAMPLE)]

    def is_as_before(self, one: Gradient) -> bool:
        """Whether a gradient is the same, and nothing was written into it."""
        parameter, gradient, version = one
        with torch._C.DisableTorchFunction():
            return self.grad(parameter) is gradient and gradient._version == version

    def is_one_step(self) -> bool:
        """Whether something was trained, and no optimizer stepped more than once."""
        stepped = [each for each in self.watched if each.stepped is not None]
        return self.stage.trained > 0 and self.stage.steps <= len(stepped)

    def holding(self, parameters: set[int]) -> Watched | None:
        """The optimizer of just these parameters, whatever a library has put around."""
        for each in self.watched:
            if {id(parameter) for parameter in each.parameters()} == parameters:
                return each
        return None

    def clearing(self, owner: Any, parameters: Iterable[Any]) -> None:
        """These gradients of an optimizer or a module are cleared, or set to zero."""
        cleared = {id(each) for each in parameters}
        mine = self.of(owner) or self.holding(cleared)
        if mine is not None and mine.made is not None and mine.cleared is None:
            mine.cleared = self.here(), mine.made[0]
            mine.held.update((id(each), each) for each in mine.parameters())
        for watched in self.watched:
            if any(id(each) in cleared for each, _, _ in watched.used):
                watched.used, watched.piled = [], None

    def roots(self, place: Place, loss: Info) -> None:
        """The models that ran since the last backward pass: in which mode?"""
        calls = self.stage.calls
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
            if call.depth > 1 or not acts_otherwise(root):
                continue
            if root.training:
                self.trained.add(call.key)
            elif call.key in self.trained and self.is_trained(call, loss):
                where = self.ended.get(call.key)
                self.meet("trained-in-eval", place, where, call.name)

    def is_trained(self, call: Call, loss: Info) -> bool:
        """Whether a backward pass comes to a model that ran, and not to its past."""
        root = self.stage.calls.alive[call.key]
        with torch._C.DisableTorchFunction():
            learns = any(each.requires_grad for each in root.parameters())
        return learns and leads_to(self.stage, call, loss)

    def before_step(self, optimizer: Any) -> None:
        """An optimizer is about to step."""
        watched = self.of(optimizer)
        place = self.here()
        self.weights.stepping()
        self.unused = None
        if watched is None:
            self.built(optimizer)
            watched = self.watched[-1]
        if watched.piled is not None and watched.stepped is not None:
            where, piled = watched.piled
            if any(
                self.grad(parameter) is gradient for parameter, gradient, _ in piled
            ):
                self.meet("stale", where, watched.stepped, watched.name)
        watched.stepped = place
        watched.piled = None
        with torch._C.DisableTorchFunction():
            for parameter in watched.parameters():
                watched.held[id(parameter)] = parameter
                if self.grad(parameter) is not None:
                    watched.had.add(id(parameter))
            self.all_gradients()
        self.stepping = True

    def all_gradients(self) -> None:
        """Note which parameters of all models have one."""
        for module in list(self.stage.calls.alive.values()):
            for parameter in module._parameters.values():
                if parameter is None or id(parameter) in self.had:
                    continue
                gradient = self.grad(parameter)
                if gradient is not None:
                    self.had[id(parameter)] = parameter
                    self.stage.gradients.had(parameter, gradient)

    def reached(self) -> str:
        """How many parameters of the models that ran have a gradient now, in words."""
        calls = self.stage.calls
        with torch._C.DisableTorchFunction():
            self.all_gradients()
            roots = [calls.alive[key] for key in self.ran if key in calls.alive]
            whole = {id(p): p for root in roots for p in root.parameters()}
            with_one = [p for p in whole.values() if self.grad(p) is not None]
        if not whole:
            return ""
        return f"gradients of {len(with_one):,} of {len(whole):,} parameters"

    def after_step(self, optimizer: Any) -> None:
        """It stepped; fused steps may have written into the gradients.

        Where the step ran the backward pass itself, they are new.
        """
        watched = self.of(optimizer)
        self.stepping = False
        if watched is None:
            return
        watched.used = self.gradients(watched.parameters())
        with torch._C.DisableTorchFunction():
            if self.unused is not None:
                self.unused = None
                self.all_gradients()
            for parameter in watched.parameters():
                if self.grad(parameter) is not None:
                    watched.had.add(id(parameter))  # a closure made it in the step

    def cleared(self) -> None:
        """Gradients are cleared, by an optimizer or a module."""
        if self.unused is not None:
            if not self.stepping:
                self.meet("cleared-unused", self.here(), self.unused)
            self.unused = None
            self.seen()

    def seen(self) -> None:
        """Gradients that are about to be cleared were there all the same."""
        with torch._C.DisableTorchFunction():
            for watched in self.watched:
                for parameter in watched.parameters():
                    if self.grad(parameter) is not None:
                        watched.had.add(id(parameter))

    def called(self, call: Any) -> None:
        """A model was called: in which mode?"""
        if call.depth <= 1:
            root = self.stage.calls.alive.get(call.key)
            if root is not None and root.training:
                self.in_training.add(call.index)

    def mode(self, module: Any, training: bool) -> None:
        """`train()` or `eval()` was called."""
        if not training:
            self.ended[id(module)] = self.here()

    # -- at the end of a turn, and of the run ----------------------------------------

    def graphs_kept(self, turns: Any) -> None:
        """Whether the graphs of all turns so far are still there."""
        ran = turns.ran
        for graphs in (turns.graphs, turns.inner):
            old = [one for turn, one in graphs if turn < ran - 1]
            if ran < 3 or len({turn for turn, _ in graphs}) < 3:
                continue
            if old and all(one() is not None for one in old):
                gc.collect()
                alive = [one() for one in old]
                if all(each is not None for each in alive):
                    self.meet("graph-kept", alive[0].place)
                    return

    def evaluated(self, turns: Any) -> None:
        """A turn that read batches and trained nothing: in which mode was the model?"""
        calls = self.stage.calls
        for call in calls.records[turns.call :]:
            root = calls.alive.get(call.key) if call.depth == 1 else None
            if root is None or not acts_otherwise(root):
                continue
            if call.index not in self.in_training:
                continue
            outputs = infos_in(call.output)
            line = line_of_site(call.site[0]) if call.site else None
            if line is None or not outputs:
                continue
            grads = [info for info in outputs if info.meta.requires_grad]
            if grads:
                one = Evaluated(line, call.name, call.key)
                self.evaluations.add(one, grads, turns.event)
            else:
                self.meet("evaluated-in-training", line, None, call.name)

    def told(self, folder: str) -> Training:
        """All facts, files as seen from a folder."""

        def near(place: Place | None) -> Place | None:
            return None if place is None else (shown(place[0], folder), place[1])

        self.by_hand.look()
        for one in self.evaluations.left():
            if one.model in self.trained:
                self.meet("evaluated-in-training", one.place, None, one.name)
        paths = self.paths()
        waiting = self.waiting()
        made = {each.cleared[1] for each in waiting if each.cleared}
        follows = {each.early for each in waiting}
        trained = {name.partition(".")[0] for name in paths.values()}
        met = [
            Met(kind, near(place) or place, near(other), name, count)
            for (kind, place, other, name), count in self.met.items()
            if kind != "evaluated-in-training" or name in trained
            if kind != "cleared-unused" or other not in made
            if (kind, place, other, name) not in follows
        ]
        for each in waiting:
            if each.cleared is not None:
                cleared, passed = each.cleared
                place = near(cleared) or cleared
                met.append(Met("cleared-unused", place, near(passed), each.name))
        return Training(
            tuple(self.optimized(each, paths, near) for each in self.watched),
            tuple(self.outside(paths)),
            tuple(met),
        )

    def waiting(self) -> list[Watched]:
        """Optimizers that clear gradients and never step, where others do."""
        if not any(each.stepped is not None for each in self.watched):
            return []
        return [each for each in self.watched if each.stepped is None and each.cleared]

    def paths(self) -> dict[int, str]:
        """The path of each parameter of a module that ran."""
        calls = self.stage.calls
        found: dict[int, str] = {}
        for key, module in calls.alive.items():
            path = calls.paths.get(key, "")
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    found.setdefault(id(parameter), f"{path}.{name}" if path else name)
        return found

    def optimized(
        self, watched: Watched, paths: dict[int, str], near: Any
    ) -> Optimized:
        """What is known of an optimizer."""
        with torch._C.DisableTorchFunction():
            never = [
                key
                for key, parameter in watched.held.items()
                if parameter.requires_grad and key not in watched.had
            ]
        known = [paths[key] for key in never if key in paths]
        return Optimized(
            watched.name,
            near(watched.built),
            near(watched.stepped),
            len(watched.held),
            tuple(known[:MOST_PATHS]),
            sum(key not in paths for key in never),
        )

    def outside(self, paths: dict[int, str]) -> Iterator[Outside]:
        """Parameters with gradients that no optimizer steps, by model."""
        stepped = [each for each in self.watched if each.stepped is not None]
        if not stepped:
            return
        known = [*stepped, *self.waiting()]
        held = {key for each in known for key in each.held}
        found: dict[str, list[Any]] = {}
        with torch._C.DisableTorchFunction():
            for key, parameter in self.had.items():
                if key in held or key not in paths or not parameter.requires_grad:
                    continue
                found.setdefault(paths[key].partition(".")[0], []).append(parameter)
        for model, left in found.items():
            whole = [p for p in paths.values() if p.partition(".")[0] == model]
            names = tuple(paths[id(each)] for each in left[:MOST_PATHS])
            if model in self.taught:
                as_made = self.weights.are_as_made(left)
                yield Outside(model, names, len(whole), as_made)


def acts_otherwise(root: nn.Module) -> bool:
    """Whether a model has layers to which the mode matters."""
    for module in root.modules():
        if isinstance(module, ACTS_OTHERWISE) and getattr(module, "p", 1.0) > 0:
            return True
    return False
