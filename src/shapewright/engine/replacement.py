"""Attributes and settings of others, replaced for the time of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import WRAPPER_ASSIGNMENTS
from inspect import signature
from typing import Any, TypeVar

Replacement = TypeVar("Replacement")

CACHE_METHODS = ("cache_info", "cache_clear", "cache_parameters")
"""What `functools.lru_cache` gives to a function."""


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """`owner.name` is what `make` makes of it, and afterwards what it was."""
    original = vars(owner)[name]
    setattr(owner, name, resembling(original, make))
    try:
        yield
    finally:
        setattr(owner, name, original)


def resembling(original: Any, make: Callable[[Any], Any]) -> Any:
    """What `make` makes of it, with the looks of the original.

    What the original wraps is replaced as well: who calls `f.__wrapped__()` to get
    past a cache must not get past the replacement.
    """
    made = resemble(make(original), original)
    inner = getattr(original, "__wrapped__", None)
    if inner is not None and not isinstance(original, type):
        made.__wrapped__ = resembling(inner, make)
    return made


def resemble(replacement: Replacement, original: Any) -> Replacement:
    """Give a function or class the name, documentation and attributes of another.

    Example: the stand-in of a function under `functools.lru_cache` has `cache_clear`,
    and `inspect.signature` tells the signature of the original.
    """
    looks: Any = getattr(replacement, "__func__", replacement)
    model: Any = getattr(original, "__func__", original)
    if looks is model or vars(looks).get("__wrapped__") is original:
        return replacement
    for name in WRAPPER_ASSIGNMENTS:
        if hasattr(model, name) and not (
            name == "__annotations__" and _is_class(looks)
        ):
            setattr(looks, name, getattr(model, name))
    if not _is_class(looks):
        for attribute, value in getattr(model, "__dict__", {}).items():
            vars(looks).setdefault(attribute, value)
        for method in CACHE_METHODS:
            if hasattr(model, method):
                setattr(looks, method, getattr(model, method))
        looks.__wrapped__ = original
    elif _is_class(model):
        with suppress(TypeError, ValueError):  # one that is written in C tells none
            looks.__signature__ = signature(model)
    return replacement


def _is_class(value: object) -> bool:
    return isinstance(value, type)


@contextmanager
def one_thread() -> Iterator[None]:
    """torch computes in this thread alone: no fork copies its pool of threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
