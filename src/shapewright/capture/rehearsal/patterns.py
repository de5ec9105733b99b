"""How the shapes of one turn differ from those of the turn before.

A decoder joins a token to its sequence in every turn, so no turn has the shapes of
another. Where the same calls come turn after turn, each size grows by the same number,
and what is handed on from turn to turn can be made as long as in a whole run, the turns
between bring nothing new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

STEADY = 3
"""Turns that grew alike, after which the next ones are taken to grow so, too."""


class Pattern:
    """The calls of the last turn of a loop, and how they grew."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.sizes: list[tuple[int, ...]] = []
        self.grown: list[tuple[int, ...]] = []
        self.steady = 0
        self.handed: set[int] = set()  # numbers of tensors that grew, made before

    def take(self, events: Iterable[tuple[Any, ...]], began: int) -> None:
        """A turn ended, which began when tensors had numbers up to `began`."""
        calls: list[Any] = []
        sizes: list[tuple[int, ...]] = []
        before: list[tuple[int, int]] = []
        for answer, ins, outs, site, _ in events:
            name = answer.func if isinstance(answer.func, str) else id(answer.func)
            kinds = [(info.meta.torch_dtype, len(info.meta.shape)) for info in ins]
            calls.append((site, name, len(outs), *kinds))
            for info in ins:
                if info.number < began:
                    before.append((len(sizes), info.number))
                sizes.append(info.meta.shape)
            sizes += [info.meta.shape for info in outs]
        grown: list[tuple[int, ...]] = []
        if calls and calls == self.calls and len(sizes) == len(self.sizes):
            grown = [
                tuple([new - old for new, old in zip(one, other, strict=False)])
                for one, other in zip(sizes, self.sizes, strict=True)
            ]
        self.steady = self.steady + 1 if grown and grown == self.grown else 0
        self.handed = {number for at, number in before if grown and any(grown[at])}
        self.calls, self.sizes, self.grown = calls, sizes, grown

    def is_known(self, extended: Collection[int]) -> bool:
        """Whether later turns grow as these did; `extended` can be made longer."""
        return self.steady >= STEADY and self.handed <= set(extended)
