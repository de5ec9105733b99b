"""Facts of a training: gradients that are kept, cleared and used, or never come."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from shapewright.record.report import Observation, Optimized, Outside, Place, Training
from shapewright.runtime.training.data_sets import DataFacts
from shapewright.runtime.training.gradient_clipping import Clippings, Gradient
from shapewright.runtime.training.idle_steps import Blocks
from shapewright.runtime.training.layer_sizes import LayerSizes
from shapewright.runtime.training.model_modes import Modes
from shapewright.runtime.training.norm_statistics import NormStatistics
from shapewright.runtime.training.parameter_writes import ByHand, Weights
from shapewright.runtime.training.sampler_epochs import SamplerEpochs
from shapewright.runtime.training.scaled_losses import ScaledLosses
from shapewright.runtime.training.schedulers import Schedulers
from shapewright.runtime.training.seeds import Seeds
from shapewright.runtime.training.shared_passes import SharedPasses
from shapewright.runtime.training.story import format_file
from shapewright.runtime.training.thawed_parameters import ThawedParameters

if TYPE_CHECKING:
    from shapewright.runtime.training.gradients import Gradients
    from shapewright.runtime.training.story import ProgramRun

SAMPLE = 3
"""Parameters of an optimizer whose gradients are checked after a backward pass."""

MOST_PATHS = 400


class _Watched:
    """An optimizer and the history of its gradients."""

    def __init__(self, optimizer: Any, place: Place) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.name = type(optimizer).__name__
        self.built = place
        self.stepped: Place | None = None
        self.first: int | None = None  # steps of the run before its first
        self.last = -1  # and before its last
        self.made: tuple[Place, list[Gradient]] | None = None  # before any step
        self.cleared: tuple[Place, Place] | None = None  # and where they were made
        self.early: tuple[str, Place, Place | None, str] | None = None  # a scheduler
        self.used: list[Gradient] = []  # by its last step
        self.piled: tuple[Place, list[Gradient]] | None = None  # on those, and where
        self.had: set[int] = set()
        self.held: dict[int, Any] = {}
        self.counts = Counter(map(id, self.parameters()))

    def parameters(self) -> Iterator[Any]:
        """Yield the parameters that the optimizer currently has."""
        optimizer = self.optimizer()
        for group in optimizer.param_groups if optimizer is not None else ():
            yield from group["params"]


class Facts:
    """All facts that are collected about a training."""

    def __init__(self, run: ProgramRun, gradients: Gradients) -> None:
        self.run = run
        self.gradients = gradients
        self.sample = SAMPLE
        self.watched: list[_Watched] = []
        self.met: dict[tuple[str, Place, Place | None, str], int] = {}
        self.unused: Place | None = None  # a backward pass that no step followed
        self.stepping = False  # an optimizer is, and may run a closure
        self.had: dict[int, Any] = {}  # parameters that had a gradient
        self.maybe_unused: dict[int, Any] = {}  # as the program says of them
        self.modes = Modes(run, self.meet)
        self.by_hand = ByHand(run, self.meet)
        self.weights = Weights(run.engine)
        self.clippings: Clippings = Clippings(self)
        self.orders = SamplerEpochs(self)
        self.data = DataFacts(run, self.meet, self.orders)
        self.statistics = NormStatistics(run, self.meet)
        self.layer_sizes = LayerSizes(run, self.meet)
        self.scaled = ScaledLosses(run, self.meet)
        self.schedulers = Schedulers(self)
        self.thawed = ThawedParameters(run)
        self.seeds = Seeds(self)
        self.blocks = Blocks(self)
        self.shared = SharedPasses(self)
        self.steps = 0  # of all optimizers

    def meet(
        self, kind: str, place: Place, other: Place | None = None, name: str = ""
    ) -> None:
        """Note an event, once for each place."""
        key = kind, place, other, name
        self.met[key] = self.met.get(key, 0) + 1

    # -- what happens -----------------------------------------------------------------

    def built(self, optimizer: Any) -> None:
        """Note that an optimizer was constructed."""
        self.watched.append(_Watched(optimizer, self.run.here()))
        self.thawed.optimizers = len(self.watched)

    def allow_unused(self, parameters: Iterable[Any]) -> None:
        """Note that a program says that some of these get no gradient."""
        self.maybe_unused.update((id(parameter), parameter) for parameter in parameters)

    def of(self, optimizer: Any) -> _Watched | None:
        """Return the record of an optimizer, or None."""
        return next((w for w in self.watched if w.optimizer() is optimizer), None)

    def before_backward(self, loss: Any) -> None:
        """Note that a backward pass is about to run."""
        place = self.run.here()
        self.look_by_hand()
        self.scaled.before_backward(loss)
        self.blocks.before_backward(self.stepping)
        self.shared.before_backward()
        for watched in self.watched:
            if not all(map(self.is_as_before, watched.used)):  # a program's own zeros
                watched.used, watched.piled = [], None
        self.unused = place
        self.modes.before_backward(place, self.run.engine.info(loss))

    def look_by_hand(self) -> None:
        """Find steps made by hand on parameters that no optimizer has."""
        self.by_hand.look([p for watched in self.watched for p in watched.parameters()])

    def after_backward(self) -> None:
        """Note whether a backward pass added to gradients that a step has used."""
        for watched in self.watched:
            same = all(map(self.is_as_before, watched.used))
            if watched.stepped is None and self.unused is not None:
                before = watched.made[1] if watched.made is not None else []
                if not before or not all(map(self.is_as_before, before)):
                    gradients = self.present(watched.parameters())
                    watched.made = (self.unused, gradients) if gradients else None
            if self.unused is not None and not same:
                watched.used = self.present(
                    parameter for parameter, _, _ in watched.used
                )
                watched.piled = self.unused, watched.used
        self.clippings.after_backward()
        if self.unused is not None:
            self.shared.after_backward(self.unused)
            with torch._C.DisableTorchFunction():
                self.by_hand.after_backward(self.unused)

    def present(self, parameters: Iterable[Any]) -> list[Gradient]:
        """Return the current gradients of the first parameters that have one."""
        with torch._C.DisableTorchFunction():
            pairs = ((parameter, self.run.grad(parameter)) for parameter in parameters)
            there = ((parameter, grad) for parameter, grad in pairs if grad is not None)
            return [(p, grad, grad._version) for p, grad in islice(there, self.sample)]

    def is_as_before(self, gradient_entry: Gradient) -> bool:
        """Return whether a gradient is still the same tensor and was not written to."""
        parameter, gradient, version = gradient_entry
        with torch._C.DisableTorchFunction():
            return self.run.grad(parameter) is gradient and gradient._version == version

    def holding(self, parameters: set[int]) -> _Watched | None:
        """Return the record of the optimizer with exactly these parameters, or None."""
        for watched in self.watched:
            if {id(parameter) for parameter in watched.parameters()} == parameters:
                return watched
        return None

    def note_clearing(self, owner: Any, parameters: Iterable[Any]) -> None:
        """Note that an optimizer or a module clears the gradients of its parameters."""
        cleared = {id(parameter) for parameter in parameters}
        self.shared.clear(cleared)
        mine = self.of(owner) or self.holding(cleared)
        if mine is not None and mine.made is not None and mine.cleared is None:
            mine.cleared = self.run.here(), mine.made[0]
            mine.held.update(
                (id(parameter), parameter) for parameter in mine.parameters()
            )
        for watched in self.watched:
            if any(id(parameter) in cleared for parameter, _, _ in watched.used):
                watched.used, watched.piled = [], None

    def before_step(self, optimizer: Any) -> None:
        """Note that an optimizer is about to step."""
        watched = self.of(optimizer)
        place = self.run.here()
        self.weights.stepping()
        self.unused = None
        if watched is None:
            self.built(optimizer)
            watched = self.watched[-1]
        if watched.piled is not None and watched.stepped is not None:
            where, piled = watched.piled
            if any(
                self.run.grad(parameter) is gradient for parameter, gradient, _ in piled
            ):
                self.meet("stale", where, watched.stepped, watched.name)
        self.scaled.before_step(optimizer, watched.name)
        self.blocks.before_step(watched)
        self.shared.before_step(watched, place)
        watched.first = self.steps if watched.first is None else watched.first
        watched.last = self.steps
        self.steps += 1
        watched.stepped = place
        watched.piled = None
        with torch._C.DisableTorchFunction():
            for parameter in watched.parameters():
                watched.held[id(parameter)] = parameter
                if self.run.grad(parameter) is not None:
                    watched.had.add(id(parameter))
            self.all_gradients()
        self.stepping = True

    def all_gradients(self) -> None:
        """Note all parameters that have a gradient."""
        for module in list(self.run.calls.alive.values()):
            for parameter in module._parameters.values():
                if parameter is None or id(parameter) in self.had:
                    continue
                gradient = self.run.grad(parameter)
                if gradient is not None:
                    self.had[id(parameter)] = parameter
                    self.gradients.had(parameter, gradient)

    def reached(self) -> str:
        """Describe how many parameters of the models that ran have a gradient."""
        calls = self.run.calls
        with torch._C.DisableTorchFunction():
            self.all_gradients()
            roots = [calls.alive[key] for key in self.modes.ran if key in calls.alive]
            whole = {id(p): p for root in roots for p in root.parameters()}
            with_one = [p for p in whole.values() if self.run.grad(p) is not None]
        if not whole:
            return ""
        return f"gradients of {len(with_one):,} of {len(whole):,} parameters"

    def after_step(self, optimizer: Any) -> None:
        """Note that an optimizer made a step, which may have written to gradients.

        If the step ran the backward pass itself, the gradients are new.
        """
        watched = self.of(optimizer)
        self.stepping = False
        if watched is None:
            return
        watched.used = self.present(watched.parameters())
        with torch._C.DisableTorchFunction():
            if self.unused is not None:
                self.unused = None
                self.all_gradients()
            for parameter in watched.parameters():
                if self.run.grad(parameter) is not None:
                    watched.had.add(id(parameter))  # a closure made it in the step

    def cleared(self, owner: Any) -> None:
        """Note that an optimizer or a model clears its gradients, and report those that
        no step has used: all of a backward pass, none waits in another optimizer.
        """
        if self.unused is not None and self._is_waited_for(owner):
            self.seen()
        elif self.unused is not None:
            if not self.stepping and self._has_gradients(owner):
                self.meet("cleared-unused", self.run.here(), self.unused)
            self.unused = None
            self.seen()

    def _has_gradients(self, owner: Any) -> bool:
        """Return whether there is anything to clear: the backward pass may have been of
        tensors that no optimizer has.
        """
        watched = self.of(owner) if isinstance(owner, torch.optim.Optimizer) else None
        if watched is None and not isinstance(owner, torch.nn.Module):
            return True
        parameters = owner.parameters() if watched is None else watched.parameters()
        with torch._C.DisableTorchFunction():
            return any(self.run.grad(parameter) is not None for parameter in parameters)

    def _is_waited_for(self, owner: Any) -> bool:
        """Return whether another optimizer has gradients that are not cleared now."""
        own = self.of(owner) if isinstance(owner, torch.optim.Optimizer) else None
        if own is None:
            return False
        cleared = {id(parameter) for parameter in own.parameters()}
        with torch._C.DisableTorchFunction():
            return any(
                id(parameter) not in cleared and self.run.grad(parameter) is not None
                for watched in self.watched
                for parameter in watched.parameters()
            )

    def seen(self) -> None:
        """Note which parameters have gradients that are about to be cleared."""
        with torch._C.DisableTorchFunction():
            for watched in self.watched:
                for parameter in watched.parameters():
                    if self.run.grad(parameter) is not None:
                        watched.had.add(id(parameter))

    # -- at the end of the run -------------------------------------------------------

    def told(self, folder: str) -> Training:
        """Return all facts as data, with files relative to a folder."""

        def near(place: Place | None) -> Place | None:
            return None if place is None else (format_file(place[0], folder), place[1])

        self.look_by_hand()
        self.data.look_at_splits()
        self.schedulers.look_at_left()
        self.blocks.end()
        self.clippings.look_at_late()
        self.statistics.look_at_frozen()
        stepped = {key for watched in self.watched for key in watched.held}
        self.statistics.look_at_copies({*stepped, *self.had})
        self.modes.look_at_loaded({*stepped, *self.had})
        self.modes.look_at_steps()
        for evaluation in self.modes.iter_unreached():
            self.meet("evaluated-in-training", evaluation.place, None, evaluation.name)
        paths = self.paths()
        waiting = self.waiting()
        passed_clearings = {
            watched.cleared[1] for watched in waiting if watched.cleared
        }
        follows = {watched.early for watched in waiting}
        trained = {name.partition(".")[0] for name in paths.values()}
        met = [
            Observation(kind, near(place) or place, near(other), name, count)
            for (kind, place, other, name), count in self.met.items()
            if kind != "evaluated-in-training" or name in trained
            if kind != "cleared-unused" or other not in passed_clearings
            if (kind, place, other, name) not in follows
        ]
        for watched in waiting:
            if watched.cleared is not None:
                cleared, passed = watched.cleared
                place = near(cleared) or cleared
                met.append(
                    Observation("cleared-unused", place, near(passed), watched.name)
                )
        return Training(
            tuple(self.get_facts(watched, paths, near) for watched in self.watched),
            tuple(self.outside(paths, near)),
            tuple(met),
        )

    def waiting(self) -> list[_Watched]:
        """Return the optimizers that clear gradients but never step, if others do."""
        if not any(watched.stepped is not None for watched in self.watched):
            return []
        return [
            watched
            for watched in self.watched
            if watched.stepped is None and watched.cleared
        ]

    def paths(self) -> dict[int, str]:
        """Return the path of each parameter of the modules that ran, by identity."""
        calls = self.run.calls
        paths: dict[int, str] = {}
        for key, module in calls.alive.items():
            path = calls.paths.get(key, "")
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    paths.setdefault(id(parameter), f"{path}.{name}" if path else name)
        return paths

    def get_facts(
        self, watched: _Watched, paths: dict[int, str], near: Any
    ) -> Optimized:
        """Return the facts of an optimizer."""
        with torch._C.DisableTorchFunction():
            never = [
                key
                for key, parameter in watched.held.items()
                if parameter.requires_grad and key not in watched.had
            ]
            is_beside = len(self.watched) > 1  # one number then is a temperature
            no_inputs = {
                key
                for key, parameter in watched.held.items()
                if not parameter.requires_grad or (is_beside and parameter.numel() == 1)
            }
        if self.maybe_unused.keys() & self.had.keys():
            never = [key for key in never if key not in self.maybe_unused]
        known = [paths[key] for key in never if key in paths]
        return Optimized(
            watched.name,
            near(watched.built),
            near(watched.stepped),
            len(watched.held),
            tuple(known[:MOST_PATHS]),
            sum(key not in paths for key in never),
            sum(key not in paths for key in watched.held if key not in no_inputs),
            tuple(
                paths.get(key, "a parameter of no module that ran")
                for key, count in watched.counts.items()
                if count > 1
            )[:MOST_PATHS],
            self.blocks.is_idle(watched),
            any(
                other is not watched and other.counts.keys() == watched.counts.keys()
                for other in self.watched
            ),
        )

    def outside(self, paths: dict[int, str], near: Any) -> Iterator[Outside]:
        """Yield the parameters with gradients that no optimizer updates, by model."""
        stepped = [watched for watched in self.watched if watched.stepped is not None]
        if not stepped:
            return
        known = [*stepped, *self.waiting()]
        held = {key for watched in known for key in watched.held}
        untouched: dict[str, list[Any]] = {}
        with torch._C.DisableTorchFunction():
            for key, parameter in self.had.items():
                if key in held or key not in paths or not parameter.requires_grad:
                    continue
                untouched.setdefault(paths[key].partition(".")[0], []).append(parameter)
        for model, left in untouched.items():
            whole = [p for p in paths.values() if p.partition(".")[0] == model]
            names = tuple(paths[id(parameter)] for parameter in left[:MOST_PATHS])
            if model in self.modes.taught:
                as_made = self.weights.are_as_made(left)
                thawed = self.thawed.find_place(left)
                yield Outside(model, names, len(whole), as_made, near(thawed))
