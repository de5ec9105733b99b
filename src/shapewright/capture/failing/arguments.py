"""How the tensors of a call are named in the signature of its rule."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from shapewright.capture.identity import Meta
from shapewright.capture.ruling import rule_of


def argument_names(func: Any, need: Any, args: Any, kwargs: Any) -> tuple[str, ...]:
    """A name for each tensor of a call, in the order of the call."""
    rule = None if isinstance(func, str) else rule_of(func)
    for mirror in (need, rule.metadata if rule is not None else None):
        names = bound(mirror, args, kwargs) if mirror is not None else None
        if names is not None:
            return names
    found = [name for at, item in enumerate(args) for name in tensors(str(at), item)]
    found += [name for key, item in kwargs.items() for name in tensors(key, item)]
    return tuple(found)


def bound(mirror: Any, args: Any, kwargs: Any) -> tuple[str, ...] | None:
    """The names by the signature of a rule, None where it does not take the call."""
    try:
        signature = inspect.signature(mirror)
        parameters = list(signature.parameters.values())
        signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    found: list[str] = []
    for at, item in enumerate(args):
        last = parameters[min(at, len(parameters) - 1)]
        name = last.name
        if last.kind is inspect.Parameter.VAR_POSITIONAL:
            name = f"{name}.{at - parameters.index(last)}"
        found += tensors(name, item)
    for key, item in kwargs.items():
        found += tensors(key, item)
    return tuple(found)


def tensors(name: str, value: Any) -> Iterator[str]:
    """The names of the tensors in an argument."""
    if isinstance(value, Meta):
        yield name
    elif isinstance(value, tuple | list):
        for at, item in enumerate(value):
            yield from tensors(f"{name}.{at}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors(f"{name}.{key}", item)
