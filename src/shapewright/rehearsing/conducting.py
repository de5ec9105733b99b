"""A training script, rehearsed: run, explained, and its story."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.checking.conducting import folder_of_place, program_of
from shapewright.checking.session import ALL_TRIES
from shapewright.checking.tried import place_of, places
from shapewright.reasoning.program import Program
from shapewright.reasoning.training.conducting import mistakes
from shapewright.source.epochs import with_epochs_told
from shapewright.source.loops import with_loops_told
from shapewright.source.periods import with_periods_told, with_settings_told

if TYPE_CHECKING:
    from shapewright.capture.files.program_files import ProgramFiles
    from shapewright.capture.rehearsal.rehearsing import Heard
    from shapewright.checking.tried import Place
    from shapewright.trace.report import Report


CALLS_TRIED = 60_000
"""Calls of all runs together in which ways to mend a script are tried."""

FEWEST_TRIES = 6


def tries(calls: int) -> int:
    """How many runs of so many calls are made to try ways to mend a script."""
    return max(FEWEST_TRIES, min(ALL_TRIES, CALLS_TRIED // max(1, calls)))


def rehearse_command(
    script: str,
    arguments: Sequence[str] = (),
    device: str = "cpu",
    timeout: float | None = None,
    full: bool = False,
    heard: Heard | None = None,
    files: ProgramFiles | None = None,
) -> Report:
    """What `shapewright rehearse` finds, and the story of the run."""
    from shapewright.capture.failing.built import Constructions
    from shapewright.capture.files.program_files import noted
    from shapewright.capture.guarding import guarded
    from shapewright.capture.limits import limited, on_stderr
    from shapewright.capture.memo import Memo
    from shapewright.capture.rehearsal.machine import Machine, UnknownDevice
    from shapewright.capture.rehearsal.rehearsing import Rehearsing
    from shapewright.capture.rehearsal.training_libraries import (
        is_own_package,
        of_counting_library,
        of_training_library,
    )
    from shapewright.capture.running import Settings, before_any_call, record
    from shapewright.capture.telling import Stopped
    from shapewright.checking.session import Session
    from shapewright.checking.trying import Trying
    from shapewright.inputs.configuration import ignored_codes
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.overlay import changing
    from shapewright.inputs.program import Program as Files
    from shapewright.inputs.pyfile import read_source
    from shapewright.inputs.script import load_script
    from shapewright.inputs.target import parse_target

    try:
        Machine(device)
    except UnknownDevice as error:
        raise InputError(str(error)) from None
    parsed = parse_target(script)
    if parsed.kind != "script":
        raise InputError(f"`{script}` is no script; rehearse takes FILE.py")
    read_source(parsed.place)
    ignored = ignored_codes(folder_of_place(parsed))
    memo = Memo()
    holds = Files(Path(os.path.abspath(parsed.place)).parent).holds

    def owns(file: str) -> bool:
        return holds(file) or is_own_package(file)

    first = Rehearsing(holds, device, full, tuple(arguments), heard=heard, files=files)

    def run(gone: Place | None = None) -> Program:
        if gone is not None and is_late(program, gone, first.later):
            soon = once(Rehearsing(holds, device, full, hurried=True), gone)
            if any(place[:2] == gone[:2] for place in places(soon)):
                return soon
        return once(Rehearsing(holds, device, full), gone)

    def once(rehearsing: Rehearsing, gone: Place | None = None) -> Program:
        settings = Settings(target=script, go_on=True, quick=gone is not None)
        settings.memo = memo
        settings.graph = True
        if gone is not None:
            settings.gone = os.path.abspath(gone[0]), gone[1]
        seen = Constructions()
        with (
            guarded(),
            seen.watched(),
            changing(owns, with_loops_told),
            changing(owns, with_periods_told),
            changing(of_training_library, with_epochs_told),
            changing(of_counting_library, with_settings_told),
        ):
            loaded = load_script(parsed, arguments)
            settings.rehearsing = rehearsing
            made = record(to_its_end(loaded.callable), (), {}, settings)
            if rehearsing.layer is not None:
                made = noted(made, rehearsing.layer)
        return program_of(made, settings, seen)

    with on_stderr(), limited(timeout, hard=True), Trying(run) as trying:
        try:
            began = time.perf_counter()
            program = once(first)
            seconds = time.perf_counter() - began
            told = first.told and replace(first.told, seconds=seconds)
            trying.allowed = 3.0 + 3 * seconds
            session = Session(program, trying.again, trying.attempt, ignored=ignored)
            session.left = tries(len(program.trace.ops))
            report = session.report()
            if told is None:
                return report
            found = *report.findings, *mistakes(program, told, ignored)
            return replace(report, findings=found, rehearsal=told)
        except Stopped as stopped:
            ended = program_of(before_any_call(script, stopped), None, None)
            return Session(ended).report()


def is_late(program: Program, gone: Place, later: int | None) -> bool:
    """Whether a run comes to what failed there only after a turn of some loop.

    `later` is how many calls there were before the second turn of any.
    """
    if later is None or not gone[1]:
        return False
    met = [each.op for each in program.failures if place_of(program, each) == gone]
    return min(met, default=len(program.trace.ops)) >= later


def to_its_end(script: Callable[[], object]) -> Callable[[], None]:
    """A script for which `sys.exit()` without a fault is its end."""

    def run() -> None:
        try:
            script()
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise

    run.__name__ = getattr(script, "__name__", "run")
    return run
