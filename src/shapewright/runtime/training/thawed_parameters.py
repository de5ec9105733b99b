"""Parameters that are unfrozen after an optimizer was built from those that trained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shapewright.record.report import Place

if TYPE_CHECKING:
    from shapewright.runtime.training.story import ProgramRun


class ThawedParameters:
    """The parameters whose `requires_grad` was set to False, and later to True."""

    def __init__(self, run: ProgramRun) -> None:
        self.run = run
        self.frozen: dict[int, tuple[Any, tuple[Place, ...]]] = {}
        self.thawed: dict[int, tuple[Any, Place, int]] = {}
        self.optimizers = 0  # that were built so far

    def note_flag(self, parameter: Any, value: bool) -> None:
        """Note that a parameter is frozen, or unfrozen."""
        key, lines = id(parameter), self.run.lines()
        if not value:
            self.frozen[key] = parameter, lines
            self.thawed.pop(key, None)
        elif key in self.frozen and lines:
            place = _find_difference(self.frozen[key][1], lines)
            self.thawed[key] = parameter, place, self.optimizers

    def find_place(self, parameters: Iterable[Any]) -> Place | None:
        """Return where all these were unfrozen after the first optimizer, or None."""
        entries = [self.thawed.get(id(parameter)) for parameter in parameters]
        late = [entry for entry in entries if entry is not None and entry[2] > 0]
        return late[0][1] if late and len(late) == len(entries) else None


def _find_difference(before: tuple[Place, ...], lines: tuple[Place, ...]) -> Place:
    """Return the innermost line that is not one of those of an earlier call."""
    for earlier, line in zip(before, lines, strict=False):
        if earlier != line:
            return line
    return lines[0]
