"""Reproducible random numbers for a run, whatever was drawn before it.

Small tensors are drawn for real, so unseeded runs could take different paths. A run
begins with our seed; a seed set by the program takes effect as usual. Functions that
would ask the machine for a seed get ours. The former states are restored afterwards.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from shapewright.engine.replacement import copy_attributes

SEED = 0
_lent: list[dict[int, tuple[torch.Generator, torch.Tensor]]] = []
"""The program's generators that a run used, with their earlier states."""


def save_generator(generator: torch.Generator) -> None:
    """Save the state of a generator before a run draws from it."""
    if _lent and id(generator) not in _lent[-1]:
        _lent[-1][id(generator)] = generator, generator.get_state()


@contextmanager
def seed_generators() -> Iterator[None]:
    """Seed the default generators with `SEED`; prevent seeding by the machine."""
    torch.default_generator.manual_seed(SEED)
    random.seed(SEED)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(SEED)
    replaced = _make_replacements(numpy)
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
def _make_replacements(numpy: Any) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return the functions that seed from the machine, with their replacements."""
    replacements = [(random, "seed", _wrap_seeding(random.seed))]
    replacements += [
        (space, "seed", _replace_seed(torch.seed)) for space in (torch, torch.random)
    ]
    if numpy is not None:
        names = ("seed", "default_rng")
        space = numpy.random
        replacements += [
            (space, name, _wrap_seeding(getattr(space, name))) for name in names
        ]
    return replacements


def _wrap_seeding(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a seeding function so that a call without a seed uses `SEED`."""

    def replaced(*args: Any, **kwargs: Any) -> Any:
        none = not kwargs and args in ((), (None,))
        return original(SEED) if none else original(*args, **kwargs)

    return copy_attributes(replaced, original)


def _replace_seed(original: Callable[[], int]) -> Callable[[], int]:
    """Return a replacement for `torch.seed` that sets and returns `SEED`."""

    def replaced() -> int:
        torch.default_generator.manual_seed(SEED)
        return SEED

    return copy_attributes(replaced, original)
