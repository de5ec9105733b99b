"""Which rule answers for which torch function."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

import shapewright.rules.all  # noqa: F401  (before a run, whose time is limited)
from shapewright.rules.meta import Rule
from shapewright.rules.registry import RULES

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


def _resolve() -> None:
    global _seen
    for name, rule in RULES.items():
        found: Any = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
            if found is None:
                break
        if found is not None:  # torch grows and shrinks; a missing name is no rule
            _by_function[found] = rule
    _seen = len(RULES)


@cache
def einsum_swaps() -> bool:
    """Whether this torch lays the result of `ij,ki->kj` out row by row."""
    with torch._C.DisableTorchFunction(), torch.no_grad():
        one, other = (torch.ones(shape, device="cpu") for shape in ((2, 3), (2, 2)))
        return bool(torch.einsum("ij,ki->kj", one, other).is_contiguous())
