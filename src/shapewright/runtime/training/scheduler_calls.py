"""The calls that build and step schedulers, as they are watched in a rehearsal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau, SequentialLR

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.training.planned_steps import (
    find_planned_steps,
    iter_planned_parts,
)

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


@contextmanager
def watch_schedulers(stage: RehearsalState) -> Iterator[None]:
    """Add each step of a scheduler to the story, and note what it changes."""
    schedulers = stage.facts.schedulers

    def make_constructor(original: Any) -> Any:
        @wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            optimizer = args[0] if args else kwargs.get("optimizer")
            schedulers.note_built(self, optimizer)
            original(self, *args, **kwargs)

        return __init__

    def make_plateau_step(original: Any) -> Any:
        @wraps(original)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            schedulers.note_step(self)
            return original(self, *args, **kwargs)

        return step

    with ExitStack() as stack:
        for owner, name, make in (
            (LRScheduler, "step", _make_scheduler_step(stage)),
            (LRScheduler, "__init__", make_constructor),
            (SequentialLR, "step", _make_sequence_step(stage)),
            (ReduceLROnPlateau, "step", make_plateau_step),
            (ReduceLROnPlateau, "__init__", make_constructor),
        ):
            stack.enter_context(replace_attribute(owner, name, make))
        yield


def _make_scheduler_step(stage: RehearsalState) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `step` of schedulers."""
    schedulers = stage.facts.schedulers

    def make(original: Any) -> Any:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            count = getattr(self, "_step_count", 0)
            if count >= 1:
                schedulers.note_step(self)
                name = type(self).__name__
                node = stage.story.note_event(stage.engine, "schedule", name)
                node.total = getattr(self, "total_steps", None)
                plan = find_planned_steps(self) if count == 1 else None
                if plan is not None:
                    built = schedulers.find_place(self)
                    stage.facts.meet("planned", stage.here(), built, f"{name} {plan}")
                watched = stage.facts.of(self.optimizer)
                if count == 1 and watched is not None and watched.stepped is None:
                    place = stage.here()
                    stage.facts.meet("scheduled-first", place, None, name)
                    watched.early = "scheduled-first", place, None, name
            return original(self, *args, **kwargs)

        return step

    return make


def _make_sequence_step(stage: RehearsalState) -> Callable[[Any], Any]:
    """Return a function that makes the stand-in for `step` of a `SequentialLR`."""

    def make(original: Any) -> Any:
        @wraps(original)
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.last_epoch == 0:
                for part, plan, start, end in iter_planned_parts(self):
                    built = stage.facts.schedulers.find_place(part)
                    words = f"{plan} {start} {end or 0}"
                    stage.facts.meet("planned-part", stage.here(), built, words)
            return original(self, *args, **kwargs)

        return step

    return make
