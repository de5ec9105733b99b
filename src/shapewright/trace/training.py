"""What a training did to its model, as data in which reasoning looks for mistakes."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[str, int]
"""A file, as seen from the working directory, and a line."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """An optimizer: where it was built and last stepped, and what it holds.

    `never` are the paths of its parameters that require gradients and never had one,
    `strangers` counts those that belong to no module that ran.
    """

    name: str
    built: Place
    stepped: Place | None
    parameters: int
    never: tuple[str, ...] = ()
    strangers: int = 0


@dataclass(frozen=True, slots=True)
class Outside:
    """Parameters of a module that get gradients and are in no optimizer.

    `of` counts all parameters of the model; `as_made` says that none of these was
    loaded, so that they keep random numbers.
    """

    model: str
    paths: tuple[str, ...]
    of: int
    as_made: bool = False


@dataclass(frozen=True, slots=True)
class Met:
    """Something that was seen at a line: `other` is a second line, `name` a class."""

    kind: str
    place: Place
    other: Place | None = None
    name: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Training:
    """What is known of a rehearsed training at its end."""

    optimizers: tuple[Optimized, ...] = ()
    outside: tuple[Outside, ...] = ()
    met: tuple[Met, ...] = ()
