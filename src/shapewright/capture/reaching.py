"""The models that a function works on: those in its closure, defaults and globals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import nn

DEPTH = 3
MOST = 100
"""Items of one container that are looked at: a model does not stand in a data set."""


def modules_of(target: Any, given: Iterable[Any] = ()) -> list[tuple[str, nn.Module]]:
    """The module that a target is with all inside it, or those that it can reach.

    Example: for ``def step(x): return head(body(x))`` all of the two globals' modules.
    """
    roots = [target] if isinstance(target, nn.Module) else reached((target, *given))
    found: dict[int, tuple[str, nn.Module]] = {}
    for root in roots:
        for path, module in root.named_modules():
            found.setdefault(id(module), (path, module))
    return list(found.values())


def reached(values: Iterable[Any], depth: int = DEPTH) -> list[nn.Module]:
    """The outermost modules that some values hold or name."""
    found: list[nn.Module] = []
    for value in values:
        if isinstance(value, nn.Module):
            found.append(value)
        elif depth:
            found += reached(held_by(value), depth - 1)
    return found


def held_by(value: Any) -> Iterator[Any]:
    """What a function, a method, a partial or a container holds."""
    kind = type(value)
    if kind is FunctionType:
        yield from held_by_function(value)
    elif kind is MethodType:
        yield value.__self__
        yield value.__func__
    elif kind is partial:
        yield from (value.func, *value.args, *value.keywords.values())
    elif kind in (list, tuple, set) and len(value) <= MOST:
        yield from value
    elif kind is dict and len(value) <= MOST:
        yield from value.values()
    elif not isinstance(value, type) and type(getattr(value, "__dict__", None)) is dict:
        yield from [v for v in vars(value).values() if isinstance(v, nn.Module)]


def held_by_function(function: FunctionType) -> Iterator[Any]:
    """Closure, defaults, and the globals that the code names."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet filled
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for name in named(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, nn.Module | FunctionType | list | tuple | dict):
            yield value


def named(code: CodeType) -> set[str]:
    """The global names in a function's code and the functions inside it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= named(constant)
    return names
