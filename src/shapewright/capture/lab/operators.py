"""Operators of torch that are known by a dotted name."""

from __future__ import annotations

from difflib import get_close_matches
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


def unknown_name(name: str) -> str:
    """What to say of a name that is no known operator: what it is, or what is near."""
    prefix, _, last = name.rpartition(".")
    known = sorted(known_names())
    same = [one for one in known if one.rpartition(".")[2] == last]
    if same and not in_torch(name):
        near = min(same, key=len).replace("torch.nn.functional.", "F.")
        return f"no operator `{name}` is known; did you mean `{near}`?"
    if in_torch(name):
        return f"`{name}` is not one of the operators that are drawn"
    beside = [
        one.rpartition(".")[2] for one in known if one.rpartition(".")[0] == prefix
    ]
    if prefix == "torch.nn":  # a layer
        beside = [one for one in dir(torch.nn) if one[:1].isupper()]
    close = get_close_matches(last, beside, n=1)
    hint = f"; did you mean `{prefix}.{close[0]}`?" if close else ""
    return f"no operator `{name}` is known{hint}"


def in_torch(name: str) -> bool:
    """Whether torch has something of that name."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found is not None


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
