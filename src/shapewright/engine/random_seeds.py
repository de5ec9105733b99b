"""Random numbers of a run: the same each time, whatever was drawn before it.

Small tensors are drawn for real, so a run would take another way each time. It begins
at a seed of our own; a program that sets one has its own. What asks the machine for a
a seed gets ours. The states of before are put back with the rest of the process.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from shapewright.engine.replacement import resemble

SEED = 0
_lent: list[dict[int, tuple[torch.Generator, torch.Tensor]]] = []
"""Generators of the program that a run drew from, with their states of before."""


def lend(generator: torch.Generator) -> None:
    """A run is about to draw from a generator that may be the user's."""
    if _lent and id(generator) not in _lent[-1]:
        _lent[-1][id(generator)] = generator, generator.get_state()


@contextmanager
def seeded() -> Iterator[None]:
    """Begin at our seed, and let nothing ask the machine for another."""
    torch.default_generator.manual_seed(SEED)
    random.seed(SEED)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(SEED)
    replaced = _replacements(numpy)
    before = [getattr(space, name) for space, name, _ in replaced]
    for space, name, function in replaced:
        setattr(space, name, function)
    _lent.append({})
    try:
        yield
    finally:
        for generator, state in _lent.pop().values():
            generator.set_state(state)
        for (space, name, function), original in zip(replaced, before, strict=True):
            if getattr(space, name, None) is function:  # else the program's own
                setattr(space, name, original)


@functools.cache
def _replacements(numpy: Any) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Functions that would ask the machine for a seed, and what is in their place."""
    found = [(random, "seed", _given(random.seed))]
    found += [(space, "seed", _started(torch.seed)) for space in (torch, torch.random)]
    if numpy is not None:
        names = ("seed", "default_rng")
        space = numpy.random
        found += [(space, name, _given(getattr(space, name))) for name in names]
    return found


def _given(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is called with our seed where it is called with none."""

    def replaced(*args: Any, **kwargs: Any) -> Any:
        none = not kwargs and args in ((), (None,))
        return original(SEED) if none else original(*args, **kwargs)

    return resemble(replaced, original)


def _started(original: Callable[[], int]) -> Callable[[], int]:
    """`torch.seed`, which gives the number at which it starts anew."""

    def replaced() -> int:
        torch.default_generator.manual_seed(SEED)
        return SEED

    return resemble(replaced, original)
