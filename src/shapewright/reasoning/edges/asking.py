"""Runs at other sizes, asked for once each, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shapewright.findings.finding import Finding
from shapewright.reasoning.edges.free import Free
from shapewright.reasoning.edges.seen import UNSURE, Seen, Step

RUNS = 24
"""Runs of one program at other sizes."""
FEWEST = 4
"""Runs of a program however large."""
OPS = 12_000
"""Calls of all these runs together, about."""


Look = Literal["", "steps", "cause"]


@dataclass(frozen=True, slots=True)
class Request:
    """A run to be made: new sizes of free dims, and the model's mode (None: as it is).

    `look` asks more of a run that was made: what each call gave ("steps"), or why it
    fails ("cause").
    """

    sizes: tuple[tuple[Free, int], ...] = ()
    training: bool | None = None
    look: Look = ""


@dataclass(slots=True)
class Runs:
    """The runs that were made, and how to make more."""

    make: Callable[[Sequence[Request]], Sequence[Seen | None]]
    left: int
    known: dict[Request, Seen] = field(default_factory=dict)

    def ask(self, requests: Sequence[Request]) -> None:
        """Make those that are not made yet, as far as the budget goes."""
        new = [each for each in dict.fromkeys(requests) if each not in self.known]
        if not any(each.look for each in new):
            new = new[: self.left]
            self.left -= len(new)
        for request, found in zip(new, self.make(new) if new else (), strict=True):
            self.known[request] = found or UNSURE

    def steps(self, requests: Sequence[Request]) -> list[tuple[Step, ...]]:
        """What each call gave in some runs."""
        asked = [replace(each, look="steps") for each in requests]
        self.ask(asked)
        return [self.at(each).steps for each in asked]

    def cause(self, request: Request) -> Finding | None:
        """Why a run fails; None where that depends on what only the data tells."""
        asked = replace(request, look="cause")
        self.ask([asked])
        seen = self.at(asked)
        return seen.finding if seen.state == "fails" else None

    def at(self, request: Request) -> Seen:
        """A run; `UNSURE` where it was not made."""
        return self.known.get(request, UNSURE)


def budget(ops: int) -> int:
    """How many runs a program of so many calls gets."""
    return max(FEWEST, min(RUNS, OPS // max(1, ops)))
