"""Steps of optimizers that no loss before them has given a gradient.

The backward passes and steps of a run are read in blocks: passes, and the steps behind
them. An optimizer may well step in a block that only trains another, which steps too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

from shapewright.runtime.training.gradient_clipping import Gradient

FEWEST = 2
"""Blocks in which an optimizer must have stepped for nothing."""


class _GradientFacts(Protocol):
    """What is known of the gradients of a run."""

    watched: list[Any]

    def present(self, parameters: Iterable[Any]) -> list[Gradient]: ...
    def is_as_before(self, gradient_entry: Gradient) -> bool: ...


class Blocks:
    """The blocks of a run, and the optimizers that step in them for nothing."""

    def __init__(self, facts: _GradientFacts) -> None:
        self.facts = facts
        self.before: dict[int, list[Gradient]] | None = None  # the passes of this block
        self.stepped: dict[int, bool] = {}  # in this block, and whether a pass came
        self.idle: Counter[int] = Counter()
        self.useful: set[int] = set()

    def before_backward(self, in_step: bool) -> None:
        """Begin a block, unless only passes came since the last one began."""
        if in_step:  # a closure: the step has its own gradients
            self.useful.update(self.stepped)
        elif self.before is None or self.stepped:
            self.end()
            self.before = {
                id(watched): self.facts.present(watched.parameters())
                for watched in self.facts.watched
            }

    def before_step(self, watched: Any) -> None:
        """Note a step, and whether this block has changed its gradients."""
        if self.before is None:
            self.useful.add(id(watched))  # gradients that no pass has made
            return
        now = self.facts.present(watched.parameters())
        before = self.before.get(id(watched), [])
        same = bool(before) and all(map(self.facts.is_as_before, before))
        self.stepped[id(watched)] = bool(now) and not same

    def end(self) -> None:
        """Count the steps of the block that ends."""
        if any(self.stepped.values()):
            self.useful.update(self.stepped)
        else:
            self.idle.update(list(self.stepped))
        self.stepped.clear()

    def is_idle(self, watched: Any) -> bool:
        """Return whether all steps of an optimizer were for nothing."""
        key = id(watched)
        return key not in self.useful and self.idle[key] >= FEWEST
