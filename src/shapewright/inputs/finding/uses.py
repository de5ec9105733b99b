"""What a program does with each of its arguments, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Moves = tuple[tuple[Any, ...], ...] | None
"""How the dims of an argument were moved, in order: ``(("transpose", 1, 2),)``.
None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Met:
    """A layer that an argument reaches: its path, the layer, the dims moved before.

    `place` is which of the layer's inputs it is: "0", "1", "key_padding_mask".
    """

    path: str
    layer: Any
    moves: Moves
    place: str = "0"


@dataclass(frozen=True, slots=True)
class Beside:
    """A tensor of the model that an argument is put together with."""

    how: str
    shape: tuple[int, ...]
    moves: Moves


@dataclass(slots=True)
class Uses:
    """What is done with one argument, or one part of it.

    `high`: integers lie below it. `joined`: it is handed to `torch.cat` or `stack`
    whole. `peers` are the places of arguments that it is added to or compared with.
    """

    layers: list[Met] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    whole: bool = False
    boolean: bool = False
    complex: bool = False
    high: int | None = None
    keys: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, None] = field(default_factory=dict)
    parts: int = 0
    iterated: bool = False
    joined: bool = False
    number: bool = False
    lengths: bool = False
    flag: bool = False
    optional: bool = False
    tensor: bool = False
    peers: list[tuple[str | int, ...]] = field(default_factory=list)

    @property
    def used(self) -> bool:
        """Whether anything is known."""
        return bool(
            self.layers or self.beside or self.ranks or self.whole or self.boolean
            or self.keys or self.parts or self.iterated or self.joined or self.number
            or self.lengths
        )  # fmt: skip

    def below(self, count: int) -> None:
        """It is an index into that many."""
        self.whole = True
        self.high = count if self.high is None else min(self.high, count)


def undone(dims: tuple[Any, ...], moves: Moves) -> tuple[Any, ...] | None:
    """The dims before they were moved, of those after.

    Example: ``("B", 20, "T")`` after ``transpose(1, 2)`` was ``("B", "T", 20)``.
    """
    if moves is None:
        return None
    found = list(dims)
    try:
        for name, *places in reversed(moves):
            if name == "transpose":
                one, two = places
                found[one], found[two] = found[two], found[one]
            elif name == "permute":
                if len(places) != len(found):
                    return None
                before = list(found)
                for at, place in enumerate(places):
                    before[place] = found[at]
                found = before
            elif name == "unsqueeze":
                at = places[0]
                del found[at]
            elif name == "squeeze":
                at = places[0]
                found.insert(at if at >= 0 else len(found) + 1 + at, 1)
            elif name == "item":
                found.insert(places[0], None)
    except IndexError:
        return None
    return tuple(found)
