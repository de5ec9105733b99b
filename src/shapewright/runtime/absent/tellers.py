"""How a stand-in is told, and the error of what nothing can stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shapewright.engine.absence import NotHere
from shapewright.record.ops import Basis

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


class AbsentFile(NotHere, FileNotFoundError):
    """Raised for a file that is not there and decides what comes next."""

    def __str__(self) -> str:
        return str(self.args[0])


Tell = Callable[[str, str, Basis], None]
"""Called with what is not here, what stands for it, and how that is known."""


def build_teller(engine: Engine, strict: bool = False) -> Tell:
    """Return the function that notes each stand-in; if `strict`, it refuses them."""

    def tell(what: str, by: str, basis: Basis) -> None:
        if strict:
            raise NotHere(
                f"{what} is not on this machine, and `--strict` refuses {by} in its "
                "place"
            )
        engine.stand_in(what, by, basis)

    return tell
