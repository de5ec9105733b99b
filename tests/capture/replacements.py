"""What stands replaced in torch and Python while a program runs, and how it differs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from queue import SimpleQueue
from types import ModuleType
from typing import Any

Places = dict[tuple[str, int, str], tuple[Any, Any]]

OURS = ("shapewright", "tests", "_pytest", "pytest", "hypothesis")
NAMES = ("__name__", "__qualname__", "__doc__", "__module__")
CACHE = ("cache_info", "cache_clear", "cache_parameters", "__wrapped__")


def spaces() -> Iterator[tuple[str, Any]]:
    """Every module but our own, and every class that one of them names."""
    seen: set[int] = set()
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or name.startswith(OURS):
            continue
        yield name, module
        for value in list(vars(module).values()):
            if not issubclass(type(value), type) or id(value) in seen:
                continue
            seen.add(id(value))
            if not str(value.__module__).startswith(OURS):
                yield f"{value.__module__}.{value.__qualname__}", value


def attributes() -> Places:
    """All that stands in them, by the space's name and identity, and its own."""
    return {
        (name, id(space), key): (space, value)
        for name, space in spaces()
        for key, value in list(vars(space).items())
    }


def is_callable(value: Any) -> bool:
    """A function, a class, or what a class makes methods of."""
    return callable(value) or isinstance(value, classmethod)


def replaced(before: Places) -> Iterator[tuple[str, Any, Any]]:
    """What can be called and is another than before: its name, that one, this one."""
    known = {place for _, place, _ in before}
    for (name, place, key), (space, now) in attributes().items():
        was: Any = now
        if (name, place, key) in before:
            was = before[name, place, key][1]
        elif place in known and isinstance(space, type):  # it hides what is inherited
            was = next((vars(k)[key] for k in space.__mro__[1:] if key in vars(k)), now)
        if was is not now and is_callable(was):
            yield f"{name}.{key}", was, now


def differences(was: Any, now: Any) -> list[str]:
    """How a replacement can be told from its original."""
    signatures = [signature_of(was), signature_of(now)]
    was, now = getattr(was, "__func__", was), getattr(now, "__func__", now)
    found = [
        f"{name} is {getattr(now, name, None)!r}"
        for name in NAMES
        if hasattr(was, name) and getattr(was, name) != getattr(now, name, None)
    ]
    if isinstance(was, type) != isinstance(now, type):
        found.append("no class" if isinstance(was, type) else "a class")
    if not isinstance(was, type):
        kept = [*CACHE, *getattr(was, "__dict__", {})]
        found += [
            f"no {name}" for name in kept if hasattr(was, name) > hasattr(now, name)
        ]
    if None is not signatures[0] != signatures[1]:
        found.append(f"has the signature {signatures[1]}, not {signatures[0]}")
    return found


def signature_of(function: Any) -> str | None:
    """How it says that it is called."""
    try:
        if isinstance(function, classmethod):
            function = function.__func__
        return str(inspect.signature(function))
    except (TypeError, ValueError):  # written in C
        return None


before: list[Places] = []
"""What stood there before the run."""

seen: SimpleQueue[dict[str, list[str]]] = SimpleQueue()
"""What a run saw: a queue, since what a program puts into a list is taken out again."""


def look() -> None:
    """For a program under study: tell of each replacement how it can be told."""
    try:
        seen.put({name: differences(*two) for name, *two in replaced(before[-1])})
    except Exception as error:  # which the run would take for the program's
        seen.put({"the walk": [repr(error)]})
