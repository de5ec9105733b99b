"""Samplers that shuffle by an epoch which the program has to tell them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from torch.utils.data.distributed import DistributedSampler

from shapewright.engine.replacement import replace_attribute
from shapewright.record.report import Place
from shapewright.runtime.training.schedulers import OptimizerFacts


class _Reading:
    """A pass over a loader: the lines that ask for it, and the epoch of its sampler."""

    def __init__(self, sampler: Any, lines: tuple[Place, ...], optimizers: int) -> None:
        self.sampler = weakref.ref(sampler)
        self.lines = lines
        self.optimizers = optimizers
        self.epoch, self.seed = sampler.epoch, sampler.seed
        self.is_trained = False

    def repeats(self, other: _Reading) -> bool:
        """Return whether a pass of the same training has the same order."""
        return (
            self.sampler() is other.sampler()
            and self.lines == other.lines
            and self.optimizers == other.optimizers
            and (self.epoch, self.seed) == (other.epoch, other.seed)
        )


class SamplerEpochs:
    """The passes over loaders with a `DistributedSampler` that shuffles."""

    def __init__(self, facts: OptimizerFacts) -> None:
        self.facts = facts
        self.built: weakref.WeakKeyDictionary[Any, Place] = weakref.WeakKeyDictionary()
        self.readings: dict[int, _Reading] = {}  # by the number of a pass
        self.trained: list[_Reading] = []

    def note_sampler(self, sampler: Any) -> None:
        """Note where a sampler was constructed."""
        self.built[sampler] = self.facts.run.here()

    def note_pass(self, batches: Any) -> None:
        """Note that a pass over a loader begins."""
        self.readings.pop(id(batches), None)  # of a pass that is no more
        sampler = _find_sampler(batches.loader)
        lines = self.facts.run.lines()
        if sampler is not None and sampler.shuffle and lines:
            optimizers = len(self.facts.watched)
            self.readings[id(batches)] = _Reading(sampler, lines, optimizers)

    def note_training(self, batches: Any) -> None:
        """Note that the program trains within a pass, and report the second pass with
        the order of an earlier one.
        """
        reading = self.readings.get(id(batches))
        if reading is None or reading.is_trained:
            return
        reading.is_trained = True
        sampler = reading.sampler()
        before = [other for other in self.trained if reading.repeats(other)]
        self.trained.append(reading)
        if before and sampler is not None:
            way = "sampler"
            if batches.loader.sampler is not sampler:
                way = "batch_sampler.sampler"
            name = f"{type(sampler).__name__} {way} {reading.epoch}"
            built = self.built.get(sampler)
            self.facts.meet("epoch-not-set", reading.lines[0], built, name)


def _find_sampler(loader: Any) -> Any:
    """Return the sampler of a loader that shuffles by its epoch, or None."""
    inner = getattr(loader.batch_sampler, "sampler", None)
    for sampler in (loader.sampler, inner):
        if isinstance(sampler, DistributedSampler):
            own = type(sampler).__iter__ is DistributedSampler.__iter__
            return sampler if own else None
    return None


@contextmanager
def watch_samplers(epochs: SamplerEpochs) -> Iterator[None]:
    """Note the samplers that are constructed in the block."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        @wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            epochs.note_sampler(self)

        return __init__

    with replace_attribute(DistributedSampler, "__init__", make):
        yield
