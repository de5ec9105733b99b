"""Operators of torch that are known by a dotted name."""

from __future__ import annotations

from typing import Any

import torch

import shapewright.rules.all  # noqa: F401  (every name that is known)
from shapewright.rules.maps.all import MAPS
from shapewright.rules.maps.costs import METADATA
from shapewright.rules.registry import RULES


class Unknown(Exception):
    """A name that is not an operator of torch that we know."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


FACTORIES = frozenset(
    f"torch.{name}"
    for name in """
    arange linspace logspace zeros ones full empty eye tensor randint rand randn
    randperm zeros_like ones_like full_like tril_indices triu_indices meshgrid
""".split()
)


def known_names() -> set[str]:
    """Every operator that may be called."""
    asked = {f"torch.Tensor.{name}" for name in (*METADATA, "item", "tolist")}
    return {*MAPS, *RULES, *FACTORIES, *asked} - {"tensor"}


def function_of(name: str, values: bool = False) -> Any:
    """torch's function of a dotted name, where it is one of the known."""
    if name == "tensor":
        return lambda input: input
    if not values and name not in known_names():
        raise Unknown(name)
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    if values and not isinstance(found, torch.dtype | torch.memory_format):
        raise Unknown(name)
    if isinstance(found, property) or type(found).__name__ == "getset_descriptor":
        return found.__get__  # `x.T`
    return found
