"""Calls that torch takes, by family of operators: what is broken starts from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from checking.needs.breaking import Call

Right = Callable[[], Iterator[Call]]
FAMILIES: dict[str, Right] = {}
"""The calls of each family."""


def family(name: str) -> Callable[[Right], Right]:
    """Register calls under the name of their family."""

    def register(right: Right) -> Right:
        assert name not in FAMILIES, name
        FAMILIES[name] = right
        return right

    return register


for _file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    import_module(f"{__name__}.{_file.stem}")
