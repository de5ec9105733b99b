"""Running statistics of batch norm: of frozen layers, and of copies of models."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from shapewright.engine.memo import INPLACE
from shapewright.record.report import Place
from shapewright.runtime.training.story import get_site_line

if TYPE_CHECKING:
    from shapewright.engine.module_calls import RunningCall
    from shapewright.runtime.training.story import Meet, ProgramRun

FEWEST = 2
"""Steps of optimizers beside which a frozen layer must have updated its statistics."""


class _Norm:
    """A layer with running statistics, and how it was called."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.began: Place | None = None  # the `train()` that it follows
        self.frozen: set[int] = set()  # steps made before its calls as a frozen layer
        self.first = 0  # the event of the first of those
        self.is_measured = False  # evaluated before the first of those
        self.is_trained = False  # with its own parameters
        self.is_thawed = False  # trained again after it was frozen
        self.updated: int | None = None  # the event at which a call last did
        self.evaluated: int | None = None  # the event of its last evaluation
        self.loaded = -1  # the event of its last `load_state_dict`


class NormStatistics:
    """The layers of a run that have running statistics."""

    def __init__(self, run: ProgramRun, meet: Meet) -> None:
        self.run = run
        self.meet = meet
        self.norms: dict[int, _Norm] = {}
        self.began: dict[int, Place] = {}

    def note_mode(self, module: nn.Module, training: bool) -> None:
        """Note that a module changes its mode, with all layers in it."""
        if training:
            here = self.run.here()
            for layer in module.modules():
                if isinstance(layer, _BatchNorm):
                    self.began[id(layer)] = here

    def note_load(self, module: nn.Module) -> None:
        """Note that a module loads a state."""
        for layer in module.modules():
            if isinstance(layer, _BatchNorm):
                norm = self.norms.setdefault(id(layer), _Norm(layer))
                norm.loaded = len(self.run.engine.events)

    def called(self, call: RunningCall, steps: int) -> None:
        """Note that a call of a module has ended, after so many steps."""
        layer: Any = self.run.calls.alive.get(call.key)
        if not isinstance(layer, _BatchNorm) or layer.running_mean is None:
            return
        norm = self.norms.setdefault(id(layer), _Norm(layer))
        now = len(self.run.engine.events)
        if not layer.training:
            norm.evaluated = now
            return
        norm.updated = now
        own = [parameter for parameter in layer._parameters.values()
               if parameter is not None]  # fmt: skip
        with torch._C.DisableTorchFunction():
            trains = any(parameter.requires_grad for parameter in own)
        if trains:
            norm.is_trained = True
            norm.is_thawed |= bool(norm.frozen)
        elif own:
            if not norm.frozen:
                norm.first = now
                norm.is_measured = norm.evaluated is not None
            norm.frozen.add(steps)
            norm.began = self.began.get(id(layer)) or norm.began or self.run.here()

    # -- at the end of the run -------------------------------------------------------

    def look_at_frozen(self) -> None:
        """Report frozen layers that have updated their statistics all the same."""
        waiting = [
            norm
            for norm in self.norms.values()
            if len(norm.frozen) >= FEWEST and not norm.is_thawed
        ]
        storages = {self._storage(norm.module.weight): norm for norm in waiting}
        written = {
            number
            for number, at, _ in self._iter_writes(storages)
            if at >= storages[number].first
        }
        by_place: dict[Place, list[str]] = {}
        measured: set[Place] = set()
        for number, norm in storages.items():
            if norm.began is not None and number not in written:
                path = self.run.calls.paths.get(id(norm.module), "")
                by_place.setdefault(norm.began, []).append(path)
                measured |= {norm.began} if norm.is_measured else set()
        for place, paths in by_place.items():
            common = _join_paths(paths)
            if common:
                name = self._name_of(common)
                words = f"{name} {len(paths)}"
                words += " measured" if place in measured else ""
                self.meet("frozen-statistics", place, None, words)

    def look_at_copies(self, held: Collection[int]) -> None:
        """Report copies of models whose weights are averaged, but not their statistics.

        `held` are the parameters of optimizers and those that had gradients.
        """
        trained = [norm.updated for norm in self.norms.values() if norm.is_trained]
        copies = [
            norm
            for norm in self.norms.values()
            if norm.updated is None and norm.evaluated is not None
            if norm.module.weight is not None and id(norm.module.weight) not in held
        ]
        if not trained or not copies:
            return
        weights = {self._storage(norm.module.weight): norm for norm in copies}
        means = {self._storage(norm.module.running_mean): norm for norm in copies}
        last: dict[int, tuple[int, Any]] = {}
        for at, (_, ins, outs, site, _) in enumerate(self.run.engine.events):
            # `slow.data = ...` of two weights gives a parameter another storage; a
            # copy, as `torch.load` makes one, is no average.
            for out in outs if len(ins) > 1 else ():
                number = out.storage.number
                if number in weights or number in means:
                    last.setdefault(number, (at, site))
        for number, at, site in self._iter_writes({*weights, *means}):
            last[number] = at, site
        for number, norm in weights.items():
            at, site = last.get(number, (-1, None))
            mean = self._storage(norm.module.running_mean)
            refreshed = max(last.get(mean, (-1, None))[0], norm.loaded)
            evaluated = norm.evaluated or 0
            is_stale = -1 <= refreshed < at < evaluated and at > _get_first(trained)
            place = get_site_line(site[0]) if is_stale and site else None
            if place is not None and self.run.story.holds(place[0]):
                path = self.run.calls.paths.get(id(norm.module), "")
                self.meet("stale-statistics", place, None, path.partition(".")[0])
                return

    def _name_of(self, path: str) -> str:
        """Return the class of the module at a path, or the path of a container."""
        calls = self.run.calls
        for key, known in calls.paths.items():
            if known == path and key in calls.alive:
                name = type(calls.alive[key]).__name__
                return path if name in vars(nn) else name
        return path

    def _storage(self, tensor: Any) -> int:
        """Return the number of a tensor's storage."""
        return self.run.engine.info(tensor).storage.number

    def _iter_writes(self, storages: Collection[int]) -> Iterator[tuple[int, int, Any]]:
        """Yield the calls that write these storages in place: storage, event, site."""
        events = self.run.engine.events if storages else []
        for at, (answer, _, outs, site, _) in enumerate(events):
            if answer.kind == INPLACE or _is_of_lists(answer.func):
                for out in outs:
                    if out.storage.number in storages:
                        yield out.storage.number, at, site


def _is_of_lists(func: Any) -> bool:
    """Return whether a function writes to lists of tensors: `torch._foreach_lerp_`."""
    name = func if isinstance(func, str) else getattr(func, "__name__", "")
    return name.startswith("_foreach") and name.endswith("_")


def _get_first(events: Collection[int | None]) -> int:
    """Return the first of some events."""
    return min(event for event in events if event is not None)


def _join_paths(paths: list[str]) -> str:
    """Return the path that all paths begin with, the root's name included."""
    parts = [path.split(".") for path in paths]
    common = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return ".".join(common)
