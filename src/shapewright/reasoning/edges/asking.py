"""Runs at other sizes, asked for once each, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shapewright.reasoning.edges.free import Free
from shapewright.reasoning.edges.seen import UNSURE, Seen

RUNS = 24
"""Runs of one program at other sizes."""
FEWEST = 4
"""Runs of a program however large."""
OPS = 16_000
"""Calls of all these runs together, about."""


@dataclass(frozen=True, slots=True)
class Request:
    """A run to be made: new sizes of free dims, and the model's mode (None: as it is).

    `whole` asks for what each call gave.
    """

    sizes: tuple[tuple[Free, int], ...] = ()
    training: bool | None = None
    whole: bool = False


@dataclass(slots=True)
class Runs:
    """The runs that were made, and how to make more."""

    make: Callable[[Sequence[Request]], Sequence[Seen | None]]
    left: int
    known: dict[Request, Seen] = field(default_factory=dict)

    def ask(self, requests: Sequence[Request]) -> None:
        """Make those that are not made yet, as far as the budget goes."""
        new = [each for each in dict.fromkeys(requests) if each not in self.known]
        new = new[: self.left]
        self.left -= len(new)
        for request, found in zip(new, self.make(new) if new else (), strict=True):
            self.known[request] = found or UNSURE

    def at(self, request: Request) -> Seen:
        """A run; `UNSURE` where it was not made."""
        return self.known.get(request, UNSURE)


def budget(ops: int) -> int:
    """How many runs a program of so many calls gets."""
    return max(FEWEST, min(RUNS, OPS // max(1, ops)))
