"""The registry of needs: the checks of calls that torch refused, by torch name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from shapewright.findings.faults import raise_in_tests
from shapewright.operators import import_families
from shapewright.operators.failed_calls import Unmet
from shapewright.operators.metadata_rules import RULES

import_families("shapes")  # the names by which torch has a function

Needs = Callable[..., Unmet | None]
"""Mirrors the torch function's signature, with `Meta` where the call has a tensor, as a
metadata rule does. Only called for calls that torch refused; returns the first
requirement that is not met, or None if it finds none."""

NEEDS: dict[str, Needs] = {}
"""Every registered need, by each of its names."""


def needs(*names: str) -> Callable[[Needs], Needs]:
    """Register the decorated function for `names`, dotted names under `torch`.

    A name with a metadata rule stands for all the names of that rule. The need of a
    layer ("torch.nn.LSTM") is called when the layer's Python code refuses its input; it
    mirrors `forward`, with the layer's plain attributes as the keyword `layer`.

    Example::

        @needs("torch.nn.functional.linear")
        def linear(input, weight, bias=None):
            return Unmet("linear-features", "{op} needs ...")
    """

    def register(function: Needs) -> Needs:
        for alias in dict.fromkeys(alias for name in names for alias in _alike(name)):
            assert alias not in NEEDS, f"two needs for {alias}"
            NEEDS[alias] = function
        return function

    return register


def _alike(name: str) -> tuple[str, ...]:
    """Return all names that share the metadata rule of `name`."""
    rule = RULES.get(name)
    return rule.names if rule is not None else (name,)


def named(*names: str) -> tuple[str, ...]:
    """Return the names, and their aliases, for which no other check is registered."""
    aliases = dict.fromkeys(alias for name in names for alias in _alike(name))
    return tuple(alias for alias in aliases if alias not in NEEDS)


def both(*words: str) -> tuple[str, ...]:
    """Return the names of the torch functions and tensor methods called `words`."""
    return tuple(f"torch.{kind}{word}" for word in words for kind in ("", "Tensor."))


def unmet(function: Needs | None, args: Any, kwargs: Any) -> Unmet | None:
    """Return what the need reports, or None if it reports nothing or fails itself."""
    if function is None:
        return None
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:  # a call that the torch function does not take either
        return None
    for name, parameter in bound.signature.parameters.items():
        value = bound.arguments.get(name)
        if parameter.annotation == "Meta" and isinstance(value, tuple | list | dict):
            return None  # torch says first that it takes a tensor
    try:
        return function(*args, **kwargs)
    except Exception as fault:  # ours: torch's own words are shown instead
        raise_in_tests(fault)
        return None
