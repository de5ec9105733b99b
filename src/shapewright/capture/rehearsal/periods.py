"""Conditions on what is counted: a turn is taken for one of those that they wait for.

A rehearsal runs few turns. What a whole run does at every 500th step, evaluate, save,
log, is done once, at the second step that comes to the condition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import get_ident
from typing import TYPE_CHECKING, Any

from shapewright.capture.rehearsal.counts import LONGEST_PERIOD

if TYPE_CHECKING:
    from shapewright.capture.rehearsal.turns import Stage

REACHED = 3
"""Turns that a library's loop has in any case."""

Key = tuple[str, int, int]
"""The condition in words, its number in its file, and the period."""


@dataclass
class Periods:
    """What each condition was asked with, and the count that was taken for due.

    A count is a number that grows by one from one step of the training to the next:
    sizes, or the numbers of layers, do not.
    """

    stage: Stage
    seen: dict[Key, dict[int, int]] = field(default_factory=dict)
    chosen: dict[Key, int] = field(default_factory=dict)

    def due(self, count: Any, period: Any, words: str, at: int, library: bool) -> Any:
        """`count % period`, zero where a whole run's condition is taken as met."""
        left = count % period
        least = REACHED if library else LONGEST_PERIOD
        if type(count) is not int or type(period) is not int or period <= least:
            return left
        stage, key = self.stage, (words, at, period)
        if stage.full or get_ident() != stage.thread:
            return left
        if self.chosen.get(key) == count:
            return 0
        if left == 0:
            if count or not library:
                self.chosen.setdefault(key, count)
            return 0
        seen = self.seen.setdefault(key, {})
        trained = seen.setdefault(count, stage.trained)
        before = seen.get(count - 1)
        if key in self.chosen or before is None or before >= trained:
            return left
        self.chosen[key] = count
        stage.engine.assume(f"`{words}` with {period} taken as 0 at {count}")
        return 0

    def exceeds(self, setting: Any, length: Any) -> Any:
        """`setting > length`, with the length that a shortened loader really has."""
        if type(length) is int:
            length = self.stage.shortened.get(length, length)
        return setting > length
