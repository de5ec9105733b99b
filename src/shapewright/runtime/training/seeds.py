"""Seeds that a program sets again between the steps of one training: of torch, of its
GPUs, of NumPy and of Python.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
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
        def manual_seed(seed: Any) -> Any:
            seeds.note(seed)
            return original(seed)

        return manual_seed

    def make_seed(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def seed(*args: Any, **kwargs: Any) -> Any:
            seeds.note(args[0] if args else kwargs.get("seed", kwargs.get("a")))
            return original(*args, **kwargs)

        return seed

    with ExitStack() as stack:
        for owner, name in ((torch, "manual_seed"), (torch.cuda, "manual_seed_all")):
            stack.enter_context(replace_attribute(owner, name, make))
        numpy = sys.modules.get("numpy.random")
        for drawing in (random, numpy) if numpy is not None else (random,):
            stack.enter_context(replace_attribute(drawing, "seed", make_seed))
        yield
