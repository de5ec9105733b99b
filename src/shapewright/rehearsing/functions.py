"""A live function that trains, rehearsed: nothing around it changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapewright.checking.conducting import folder_of, program_of
from shapewright.reasoning.training.conducting import mistakes
from shapewright.source.loops import with_loops_told
from shapewright.tracing import fed

if TYPE_CHECKING:
    from shapewright.trace.report import Report


def rehearse_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    steps: int | None = None,
    device: str | None = None,
    full: bool = False,
) -> Report:
    """What `shapewright.rehearse` finds in a function, and the story of the run."""
    from shapewright.checking.session import Session
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.inputs.configuration import ignored_codes
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.living import functions_changed
    from shapewright.runtime.claimed_machine import Machine, UnknownDevice
    from shapewright.runtime.loops.loop_calls import called
    from shapewright.runtime.restore.patches import guarded
    from shapewright.runtime.restore.surroundings import owned_kept, place_of
    from shapewright.runtime.run import Settings, record
    from shapewright.runtime.training.rehearsal import Rehearsing

    if device is not None:
        try:
            Machine(device)
        except UnknownDevice as error:
            raise InputError(str(error)) from None
    if not callable(target):
        raise TypeError(f"`{target!r}` cannot be called; rehearse takes a function")
    if steps is not None and steps < 1:
        raise ValueError(f"steps={steps}: a function is called once or more")
    args, kwargs, letters = fed(args, kwargs)
    ignored = ignored_codes(folder_of(target))
    place = place_of(target)
    holds = holding(place[0])
    rehearsing = Rehearsing(holds, device, full)
    name = getattr(target, "__name__", type(target).__name__)

    def run(*args: Any, **kwargs: Any) -> Any:
        stage = rehearsing.stage
        assert stage is not None
        return called(stage, lambda: target(*args, **kwargs), place, steps)

    run.__name__ = name
    settings = Settings(go_on=True, graph=True, letters=letters, target=name)
    settings.rehearsing = rehearsing
    seen = Constructions()
    with (
        owned_kept(target, (args, kwargs)),
        guarded(),
        seen.watched(),
        functions_changed(holds, with_loops_told),
    ):
        made = record(run, args, kwargs, settings)
        if not made.complete or settings.failures:
            refuse_sizes("rehearse", target, args, kwargs)
    program = program_of(made, settings, seen)
    report = Session(program, ignored=ignored).report()
    told = rehearsing.told
    if told is None:
        return report
    told = replace(told, seconds=made.seconds)
    found = *report.findings, *mistakes(program, told, ignored)
    return replace(report, findings=found, rehearsal=told)


def holding(file: str) -> Callable[[str], bool]:
    """Whether a file belongs to the program of a function: it, and its folder's."""
    from shapewright.inputs.program import Program as Files

    files = Files(Path(os.path.abspath(file)).parent) if os.path.isfile(file) else None

    def holds(other: str) -> bool:
        return other == file or (files is not None and files.holds(other))

    return holds
