"""Which rule answers for which torch function."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

import shapewright.operators.all_shapes  # noqa: F401  (before a run, whose time is limited)
from shapewright.operators.metadata_rules import RULES, Rule
from shapewright.operators.needs_registry import Needs

_by_function: dict[Any, Rule] = {}
_seen = 0


def rule_of(func: Any) -> Rule | None:
    """The rule of a torch function, or None."""
    if _seen != len(RULES) or not _seen:
        _resolve()
    try:
        return _by_function.get(func)
    except TypeError:
        return None


@cache
def _needs_by_function() -> dict[Any, Needs]:
    """Asked only after a failure: most runs never import a need."""
    import shapewright.operators.all_needs  # noqa: F401
    from shapewright.operators.needs_registry import NEEDS

    return {
        func: need
        for name, need in NEEDS.items()
        if (func := function_named(name)) is not None
    }


def needs_of(func: Any) -> Needs | None:
    """What calls of a torch function need, or None where that is not written down."""
    try:
        return _needs_by_function().get(func)
    except TypeError:
        return None


def function_named(name: str) -> Any:
    """A function of torch by its dotted name; torch grows and shrinks: or None."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return None if found is torch else found


def _resolve() -> None:
    global _seen
    for name, rule in RULES.items():
        found = function_named(name)
        if found is not None:
            _by_function[found] = rule
    _seen = len(RULES)


@cache
def einsum_swaps() -> bool:
    """Whether this torch lays the result of `ij,ki->kj` out row by row."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        one, other = (torch.ones(shape, device="cpu") for shape in ((2, 3), (2, 2)))
        return bool(torch.einsum("ij,ki->kj", one, other).is_contiguous())
