"""Calls that torch takes, by family of operators: what is broken starts from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from checking.needs.breaking import Call

Right = Callable[[], Iterator[Call]]


@dataclass(frozen=True)
class Family:
    """Calls that torch takes.

    `fill` is what granted tensors of whole numbers hold; `numbers` says whether plain
    numbers are broken too.
    """

    right: Right
    fill: int
    numbers: bool


FAMILIES: dict[str, Family] = {}
"""The calls of each family."""


def family(name: str, fill: int = 0, numbers: bool = True) -> Callable[[Right], Right]:
    """Register calls under the name of their family."""

    def register(right: Right) -> Right:
        assert name not in FAMILIES, name
        FAMILIES[name] = Family(right, fill, numbers)
        return right

    return register


for _file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    import_module(f"{__name__}.{_file.stem}")
