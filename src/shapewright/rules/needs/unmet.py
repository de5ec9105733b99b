"""What a call needed and did not get, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapewright.rules.meta import Made


@dataclass(frozen=True, slots=True)
class Place:
    """An argument of a call, or one dim of it.

    `argument` is its name in the signature of the rule; `tensors.1` is the second of a
    list. `dim` counts from 0; None means the argument as a whole.
    """

    argument: str
    dim: int | None = None

    def __str__(self) -> str:
        return self.argument if self.dim is None else f"{self.argument}[{self.dim}]"


@dataclass(frozen=True, slots=True)
class Grant:
    """An argument as the call would have taken it.

    `value` is a `Made` where the argument is a tensor, else the plain value;
    `argument` is named as in `Place`.
    """

    argument: str
    value: Any


@dataclass(frozen=True, slots=True)
class Unmet:
    """One thing that does not fit in a call.

    `message` is a lowercase sentence with names of arguments in braces, which are
    replaced by the user's own words: ``"{op} needs 400 input features, got 256"``;
    `{op}` is the layer or the function. `got` is where the value stands that does not
    fit, `wanted` where the expectation was decided (a parameter, another tensor, an
    argument); `has` and `needs` are the two values. `grants` are the arguments as they
    would have fitted: with them torch itself says what comes out, and the run goes on
    with that. `makes` says it where no arguments can. `guessed` says that no side
    decides (`a + b`): then what comes out may be wrong, and what fails because of it
    only follows. `lines` go below the message: shapes lined up, arithmetic; they have
    the same names in braces, at their ends, so that columns stay lined up.
    """

    code: str
    message: str
    got: Place | None = None
    wanted: Place | None = None
    has: int | str | None = None
    needs: int | str | None = None
    grants: tuple[Grant, ...] = ()
    makes: tuple[Made, ...] = ()
    guessed: bool = False
    lines: tuple[str, ...] = ()
