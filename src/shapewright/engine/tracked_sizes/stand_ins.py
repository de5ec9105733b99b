"""Stand-ins for `int`, `float`, `len` and functions of `math` that forget sizes.

Python makes plain numbers of what these return. While sizes are watched, modules that
have to do with sizes find our own under these names, which do the same and remember.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shapewright.engine.replacement import resemble
from shapewright.engine.tracked_sizes.numbers import KINDS, made, plain


class Standing(type):
    """The class of a class that stands for `int` or `float`, and says it is that."""

    stands_for: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) in KINDS:
            return converted(cls.stands_for, args[0])
        return cls.stands_for(*args, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.stands_for)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.stands_for)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.stands_for

    def __hash__(cls) -> int:
        return hash(cls.stands_for)

    def __repr__(cls) -> str:
        return repr(cls.stands_for)

    @property
    def dtype(cls) -> Any:
        """What numpy asks of a class that it does not know."""
        return sys.modules["numpy"].dtype(cls.stands_for)


def converted(kind: type, number: Any) -> Any:
    """`int(h / 2)`, `float(h)`; a number of that kind already is as it is."""
    if isinstance(number, kind):
        return number
    return made(kind.__name__, kind(plain(number)), number)


class Whole(int, metaclass=Standing):
    """Stands for `int`."""


class Fraction(float, metaclass=Standing):
    """Stands for `float`."""


STANDING: dict[str, Any] = {"int": Whole, "float": Fraction}
for _name, _kind in STANDING.items():
    _kind.__name__ = _kind.__qualname__ = _name
    _kind.stands_for = getattr(builtins, _name)


def remembering(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, whose result remembers where an argument does."""

    def call(*args: Any) -> Any:
        value = function(*map(plain, args))
        known = any(type(each) in KINDS for each in args)
        return made(name, value, *args) if known else value

    call.__name__ = name
    return call


FUNCTIONS = {
    function: remembering(name, function)
    for name in "sqrt isqrt log log2 log10 exp gcd lcm pow".split()
    for function in [getattr(math, name)]
}


class Names:
    """The modules in which names stand for others, and what they had before."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def furnish(self, space: dict[str, Any]) -> None:
        """Put the stand-ins into a module of the program, once."""
        if id(space) in self.before:
            return
        found = {name: ours for name, ours in STANDING.items() if name not in space}
        for name, value in list(space.items()):
            if type(value) is BUILTIN and value in FUNCTIONS:
                found[name] = FUNCTIONS[value]
        kept = {name: space[name] for name in found if name in space}
        self.before[id(space)] = space, kept
        space.update(found)

    def put_back(self) -> None:
        """Each name as it was, where the program has not set it meanwhile."""
        for space, kept in self.before.values():
            for name, value in list(space.items()):
                if name in kept and value is FUNCTIONS.get(kept[name]):
                    space[name] = kept[name]
                elif value is STANDING.get(name, space):
                    del space[name]
        self.before.clear()


BUILTIN = type(math.sqrt)


@contextmanager
def standing(names: Names, length: Callable[[Any, int], int]) -> Iterator[None]:
    """For the time of a run; `length` says what `len` of a tensor is."""
    original = builtins.len

    def len(value: Any, /) -> int:
        return length(value, original(value))

    builtins.len = resemble(len, original)
    for function, ours in FUNCTIONS.items():
        setattr(math, ours.__name__, resemble(ours, function))
    try:
        yield
    finally:
        if builtins.len is len:
            builtins.len = original
        for function, ours in FUNCTIONS.items():
            if getattr(math, ours.__name__) is ours:
                setattr(math, ours.__name__, function)
        names.put_back()
