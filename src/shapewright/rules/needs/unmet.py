"""What a call needed and did not get, as data."""

from __future__ import annotations

from dataclasses import dataclass

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
class Unmet:
    """One thing that does not fit in a call.

    `message` is a lowercase sentence with names of arguments in braces, which are
    replaced by the user's own words: ``"{op} needs 400 input features, got 256"``;
    `{op}` is the layer or the function. `got` is where the value stands that does not
    fit, `wanted` where the expectation was decided (a parameter, another tensor, an
    argument); `has` and `needs` are the two values. `makes` is what would have come out
    had the side that decides been right; empty where that is not known. `guessed` says
    that no side decides (`a + b`): then sizes in `makes` may be wrong, and what fails
    because of them only follows.
    """

    code: str
    message: str
    got: Place | None = None
    wanted: Place | None = None
    has: int | str | None = None
    needs: int | str | None = None
    makes: tuple[Made, ...] = ()
    guessed: bool = False
