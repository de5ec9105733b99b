"""Everything as it was: taken before the first of some runs, put back after each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from shapewright.capture.guarding import patched
from shapewright.capture.identity import Info
from shapewright.capture.keeping import inputs_taken, made_ready, model_taken
from shapewright.capture.process import process_taken
from shapewright.capture.reaching import modules_of
from shapewright.capture.surroundings import surroundings_taken


@dataclass(frozen=True, slots=True)
class Taken:
    """A target and all around it, as they were.

    `modules` are the root's by path, `near` these or those that the arguments reach.
    Taking costs as much as some hundred calls, so runs that follow each other share it.
    """

    target: Any
    root: nn.Module | None
    modules: list[tuple[str, nn.Module]]
    near: list[tuple[str, nn.Module]]
    did: dict[str, Any]
    process: Callable[[], None]
    swept: list[str]
    around: Callable[[], None]
    model: Callable[[], list[str]]
    seen: dict[int, tuple[torch.Tensor, Info]] = field(default_factory=dict)
    """What the first run learnt of the model's tensors, for those that follow."""
    needs: set[str] = field(default_factory=set)
    """`graph`, where a run needed torch's autograd: those that follow begin with it."""


@dataclass(slots=True)
class Changes:
    """What a run changed, known once all is put back."""

    put_back: list[str] = field(default_factory=list)
    patched: list[str] = field(default_factory=list)


def take(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Taken:
    """Look at a target and all around it; nothing is changed."""
    root = module_of(target)
    modules = [] if root is None else list(root.named_modules())
    near = modules or modules_of(target, (args, kwargs))
    did, process = process_taken()
    inner, model = model_taken(near)
    swept, around = surroundings_taken(near, target, inner)
    return Taken(target, root, modules, near, did, process, swept, around, model)


def module_of(target: Any) -> nn.Module | None:
    """The module that a target is, or is a method of."""
    if isinstance(target, nn.Module):
        return target
    owner = getattr(target, "__self__", None)
    return owner if isinstance(owner, nn.Module) else None


@contextmanager
def as_taken(
    taken: Taken, args: tuple[Any, ...], kwargs: dict[str, Any], life: object
) -> Iterator[Changes]:
    """One run stands in the block; on leaving, everything is as it was taken.

    Each tensor of the run holds a reference to `life`: where none is left, nothing
    has to be looked for outside the model.
    """
    changes = Changes()
    swept, patches = taken.swept, taken.did["patched"]
    swept.clear()
    patches.clear()
    alive = sys.getrefcount(life)

    def around() -> None:
        if sys.getrefcount(life) > alive:
            taken.around()
            changes.put_back += swept

    def process() -> None:
        taken.process()
        changes.patched += patches

    def model() -> None:
        changes.put_back += inputs()
        changes.put_back += taken.model()

    inputs = inputs_taken(taken.near, (taken.target, args, kwargs))
    with ExitStack() as stack:
        stack.callback(process)
        stack.enter_context(patched())
        stack.callback(around)
        stack.callback(model)
        made_ready(taken.near)
        yield changes
