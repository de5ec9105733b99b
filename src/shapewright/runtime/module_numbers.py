"""The whole numbers that modules keep under a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from shapewright.record.formulas import Numbers

CONFIGS = ("config", "cfg", "conf", "args")
"""Attributes under which models keep the numbers that they were built from."""


def numbers_of(modules: Iterable[tuple[str, nn.Module]]) -> dict[str, Numbers]:
    """The named numbers of each module that is no layer of torch, by its path.

    Nothing of the program runs: what a property would say is not known.
    """
    return {
        path: Numbers(
            tuple(each.__name__ for each in classes_of(type(module))),
            numbers_in(module),
            {
                name: numbers_in(value)
                for name in CONFIGS
                if (value := vars(module).get(name)) is not None
            },
        )
        for path, module in modules
        if classes_of(type(module))[:1] == [type(module)]
    }


def classes_of(kind: type) -> list[type]:
    """A class and those above it, without torch's and Python's."""
    known = ("torch", "builtins")
    return [
        each for each in kind.__mro__ if each.__module__.partition(".")[0] not in known
    ]


def numbers_in(value: Any) -> dict[str, int]:
    """The whole numbers of an object or a dict, those of its class included."""
    if type(value) is dict:
        return plain(value)
    found: dict[str, int] = {}
    kind = value if isinstance(value, type) else type(value)
    for each in reversed(classes_of(kind)):
        found.update(plain(vars(each)))
    if kind is not value:
        found.update(plain(getattr(value, "__dict__", {})))
    return found


def plain(values: Mapping[Any, Any]) -> dict[str, int]:
    """Those with a public name."""
    return {
        name: value
        for name, value in values.items()
        if type(value) is int and isinstance(name, str) and not name.startswith("_")
    }
