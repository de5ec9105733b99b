"""What the user says of things that are not on this machine, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MakeTensor = Callable[[tuple[int, ...], str], Any]
"""Makes a tensor or an array of a shape and a dtype (`"float32"`)."""


@dataclass(frozen=True, slots=True)
class PictureFolder:
    """A folder of pictures, of one shape (channels, height, width)."""

    count: int
    shape: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TextContent:
    """A text: its length in characters, and how many of them are distinct."""

    length: int
    distinct: int


@dataclass(frozen=True, slots=True)
class TableContent:
    """A table: its rows, and its columns with their dtypes (``""`` for text)."""

    rows: int
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlainValue:
    """A value as Python writes it."""

    value: Any


@dataclass(frozen=True, slots=True)
class GivenTensors:
    """The tensors of a spec.

    `letters` are its letters that nothing binds, with the size that each has where
    nothing says more; `build` makes the tensors with such sizes: one stands for itself,
    several are a tuple, named ones a dict. `shape` is that of the first tensor.
    """

    letters: Mapping[str, int]
    shape: tuple[int, ...]
    build: Callable[[MakeTensor, Mapping[str, int]], Any]


Content = PictureFolder | TextContent | TableContent | PlainValue | GivenTensors


@dataclass(frozen=True, slots=True)
class GivenData:
    """What a file, folder or data set class holds.

    `name` is the path or the class; `length` is that of a data set, else 0.
    """

    name: str
    holds: Content
    text: str
    length: int = 0


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What a name of a package gives: when it is called, or as a value.

    `parameters` are what stands between the brackets, `holds` what comes out.
    """

    name: str
    holds: PlainValue | GivenTensors
    text: str
    called: bool = False
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StandInSettings:
    """What the user says of what is absent; if `strict`, nothing may stand for it."""

    data: tuple[GivenData, ...] = ()
    answers: tuple[GivenAnswer, ...] = ()
    strict: bool = False

    def find_class(self, name: str) -> GivenData | None:
        """Return what is said of a data set class."""
        return next((d for d in self.data if d.length and d.name == name), None)
