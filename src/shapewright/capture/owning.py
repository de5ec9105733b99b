"""All that is a user's around a live function: as it was before, whatever it did.

A run leaves tensors alone. A training changes more: rates of optimizers and counts of
schedulers, lists of losses, names of modules and of closures.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from shapewright.capture.holding import MOST, hold, put_back
from shapewright.capture.surroundings import is_own, namespaces

OWNED = Optimizer, LRScheduler, nn.Module
"""What is put back wherever it stands."""


@contextmanager
def owned_kept(target: Any, given: tuple[Any, ...]) -> Iterator[None]:
    """What the block changes in a function's surroundings is put back."""
    spaces = [space for space in namespaces([], target) if is_own(space)]
    named = [(space, space.copy()) for space in spaces]
    functions = list(functions_in(target))
    for function in functions:
        own = function.__globals__
        if not any(own is space for space, _ in named):
            named.append((own, own.copy()))
    cells = [
        (cell, cell.cell_contents)
        for function in functions
        for cell in function.__closure__ or ()
        if is_filled(cell)
    ]
    alive = [each for each in gc.get_objects() if issubclass(type(each), OWNED)]
    values = [value for _, saved in named for value in saved.values()]
    held = [
        hold(roots, functions=True, most=MOST)
        for roots in ((target, *given), alive, values)
    ]
    try:
        yield
    finally:
        for cell, content in cells:
            if not is_filled(cell) or cell.cell_contents is not content:
                cell.cell_contents = content
        for one in held:
            for container, saved in one.changed():
                put_back(container, saved)
        for space, before in named:
            restore(space, before)


@contextmanager
def optimizers_kept() -> Iterator[None]:
    """Optimizers and schedulers are as they were, whatever the block trained."""
    kinds = Optimizer, LRScheduler
    alive = [each for each in gc.get_objects() if issubclass(type(each), kinds)]
    held = hold(alive, functions=True, most=MOST) if alive else None
    try:
        yield
    finally:
        for container, saved in held.changed() if held is not None else ():
            put_back(container, saved)


def restore(space: dict[str, Any], before: dict[str, Any]) -> None:
    """The names of a module, those that were set and those that are new."""
    for name in [*space]:
        if name not in before:
            del space[name]
    for name, value in before.items():
        if name not in space or space[name] is not value:
            space[name] = value


def functions_in(target: Any, depth: int = 4) -> Iterator[FunctionType]:
    """A function, and those in its closure."""
    waiting: list[tuple[Any, int]] = [(target, depth)]
    seen: set[int] = set()
    while waiting:
        value, left = waiting.pop()
        if isinstance(value, MethodType):
            value = value.__func__
        elif isinstance(value, partial):
            value = value.func
        if not isinstance(value, FunctionType) or id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if left:
            inner = filter(is_filled, value.__closure__ or ())
            waiting += [(cell.cell_contents, left - 1) for cell in inner]


def is_filled(cell: CellType) -> bool:
    """Whether the name of a closure means something."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def place_of(target: Callable[..., Any]) -> tuple[str, int]:
    """The file and line where a function is written; of a module, its `forward`."""
    own = (
        getattr(target, "forward", target) if isinstance(target, nn.Module) else target
    )
    function = next(functions_in(own), None)
    if function is None:
        return "", 0
    code = function.__code__
    return code.co_filename, code.co_firstlineno
