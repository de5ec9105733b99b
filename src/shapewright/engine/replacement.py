"""Context managers that temporarily replace attributes and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import WRAPPER_ASSIGNMENTS
from inspect import signature
from typing import Any, TypeVar

Replacement = TypeVar("Replacement")

CACHE_METHODS = ("cache_info", "cache_clear", "cache_parameters")
"""Methods that `functools.lru_cache` adds to a function."""


@contextmanager
def replace_attribute(
    owner: Any, name: str, make: Callable[[Any], Any]
) -> Iterator[None]:
    """Replace `owner.name` by `make(owner.name)` within the block."""
    original = vars(owner)[name]
    setattr(owner, name, make_resembling(original, make))
    try:
        yield
    finally:
        setattr(owner, name, original)


def make_resembling(original: Any, make: Callable[[Any], Any]) -> Any:
    """Return `make(original)` with the name and attributes of the original.

    A function that the original wraps is replaced as well: calling `f.__wrapped__()`
    to bypass a cache must not bypass the replacement.
    """
    resembling = copy_attributes(make(original), original)
    inner = getattr(original, "__wrapped__", None)
    if inner is not None and not isinstance(original, type):
        resembling.__wrapped__ = make_resembling(inner, make)
    return resembling


def copy_attributes(replacement: Replacement, original: Any) -> Replacement:
    """Give a function or class the name, documentation and attributes of another.

    Example: the stand-in of a function under `functools.lru_cache` has `cache_clear`,
    and `inspect.signature` returns the signature of the original.
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
        with suppress(TypeError, ValueError):  # C code may have no signature
            looks.__signature__ = signature(model)
    return replacement


def _is_class(value: object) -> bool:
    return isinstance(value, type)


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Limit torch to this thread, so that no fork copies its thread pool."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
