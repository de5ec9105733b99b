"""Seeds that a program sets again between the steps of one training."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any

import torch

from shapewright.engine.replacement import replace_attribute
from shapewright.record.report import Place
from shapewright.runtime.training.schedulers import OptimizerFacts


class Seeds:
    """The calls that seed torch or its GPUs, by their place and seed."""

    def __init__(self, facts: OptimizerFacts) -> None:
        self.facts = facts
        self.last: dict[tuple[tuple[Place, ...], int], tuple[int, int]] = {}

    def note(self, seed: Any) -> None:
        """Note a seed that is set; the same one again after steps of the optimizers
        that were there before.
        """
        lines = self.facts.run.lines()
        if not lines or not isinstance(seed, int):
            return
        now = len(self.facts.watched), self.facts.steps
        before = self.last.get((lines, seed), now)
        if before[0] == now[0] and before[1] < now[1]:
            caller = lines[1] if len(lines) > 1 else None
            self.facts.meet("seed-repeated", lines[0], caller, str(seed))
        self.last[lines, seed] = now


@contextmanager
def watch_seeds(seeds: Seeds) -> Iterator[None]:
    """Note the seeds that are set in the block."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def manual_seed(*args: Any, **kwargs: Any) -> Any:
            for seed in (*args, *kwargs.values())[:1]:
                seeds.note(seed)
            return original(*args, **kwargs)

        return manual_seed

    numpy: Any = sys.modules.get("numpy")
    with (
        replace_attribute(torch, "manual_seed", make),
        replace_attribute(torch.cuda, "manual_seed_all", make),
        replace_attribute(random, "seed", make),
        replace_attribute(numpy.random, "seed", make) if numpy else nullcontext(),
    ):
        yield
