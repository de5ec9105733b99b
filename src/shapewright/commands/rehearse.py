"""Rehearse a script or a training function: run it, explain it, and
summarise the run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapewright.commands.check import (
    ALL_TRIES,
    Place,
    Session,
    Trying,
    build_program,
    find_folder,
    get_place,
    get_target_folder,
    list_failures,
    plan_continuation,
)
from shapewright.commands.trace import build_cut_notes, feed_arguments, with_loops
from shapewright.findings.codes import CPU_TENSOR
from shapewright.program.loop_conditions import with_periods_told, with_settings_told
from shapewright.program.loop_instrumentation import with_epochs_told, with_loops_told
from shapewright.record.ops import Assumption

if TYPE_CHECKING:
    from shapewright.analysis.program_run import Program
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.engine.memo import Memo
    from shapewright.inputs.launchers import Launch
    from shapewright.inputs.target import Target
    from shapewright.record.report import Report
    from shapewright.record.trace import Trace
    from shapewright.runtime.absent.settings import StandInSettings
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.limits import Limit
    from shapewright.runtime.run_record import RunRequest, RunResult
    from shapewright.runtime.training.rehearsal import (
        Heard,
        RehearsalRequest,
        Rehearsed,
    )


def _create_memo() -> Memo:
    """Return a cache of torch's results, shared by all runs of a command."""
    from shapewright.engine.memo import Memo

    return Memo()


@dataclass(frozen=True, slots=True)
class _Script:
    """A script and the settings of its runs, which all start from the beginning.

    Without a `device` it is the machine's own. `full` reads all the data. `launch` is
    how it is started.
    """

    target: Target
    arguments: Sequence[str] = ()
    device: str | None = None
    full: bool = False
    files: ProgramFiles | None = None
    launch: Launch | None = None
    stand_ins: StandInSettings | None = None
    memo: Memo = field(default_factory=_create_memo)

    def rehearsal(
        self,
        hurried: bool = False,
        whole: bool = False,
        heard: Heard | None = None,
        ended: Callable[[Rehearsed], None] | None = None,
    ) -> RehearsalRequest:
        """Return the request for a run: these settings and those common to all runs."""
        from shapewright.runtime.absent.settings import StandInSettings
        from shapewright.runtime.files.program_files import ProgramFiles
        from shapewright.runtime.training.rehearsal import RehearsalRequest

        files = self.files or ProgramFiles()
        return RehearsalRequest(
            self.holds, self.device, self.full, tuple(self.arguments), hurried, whole,
            files, heard=heard, ended=ended, launch=self._describe_launch(),
            stand_ins=self.stand_ins or StandInSettings(),
        )  # fmt: skip

    def _describe_launch(self) -> str:
        """Return what is assumed of how the script is started."""
        return self.launch.describe() if self.launch is not None else ""

    def holds(self, file: str) -> bool:
        """Return whether a file belongs to the program."""
        from shapewright.inputs.python_files import ProgramFolder

        if self.launch is not None and self.launch.module:
            return ProgramFolder(Path(os.path.abspath(self.launch.folder))).holds(file)
        return ProgramFolder(Path(os.path.abspath(self.target.place)).parent).holds(
            file
        )

    def owns(self, file: str) -> bool:
        """Return whether a file belongs to the program, or to a package of the
        user's.
        """
        from shapewright.engine.call_sites import is_own_package

        return self.holds(file) or is_own_package(file)

    def run(
        self, rehearsal: RehearsalRequest, request: RunRequest, seen: Constructions
    ) -> RunResult:
        """Run the script once; `seen` records what the program builds."""
        from shapewright.inputs.callables import load_script
        from shapewright.inputs.python_files import change_files
        from shapewright.runtime.files.program_files import add_process_notes
        from shapewright.runtime.loops.turns import (
            is_of_counting_library,
            is_of_training_library,
        )
        from shapewright.runtime.restore.process_state import guard_surroundings
        from shapewright.runtime.run import record_run

        request = replace(request, memo=self.memo, rehearsal=rehearsal)
        with (
            guard_surroundings(),
            seen.watched(),
            change_files(self.owns, with_loops_told),
            change_files(self.owns, with_periods_told),
            change_files(is_of_training_library, with_epochs_told),
            change_files(is_of_counting_library, with_settings_told),
        ):
            if self.launch is not None:
                os.environ.update(self.launch.environment)
            loaded = load_script(self.target, self.arguments, self.launch)
            result = record_run(_ignore_clean_exit(loaded.callable), (), {}, request)
            if result.rehearsed is not None:
                result = replace(
                    result,
                    trace=add_process_notes(result.trace, result.rehearsed.layer),
                )
        return result

    def program(
        self,
        rehearsal: RehearsalRequest,
        request: RunRequest,
        gone: Place | None = None,
        alone: bool = False,
    ) -> Program:
        """Run once and return the program to analyse; the trial of a fix ends at
        `gone`.

        Where no story stands beside it (`alone`), it says itself which loops were cut.
        """
        from shapewright.engine.failures.constructions import Constructions

        options = replace(request.options, going_on=plan_continuation(gone))
        seen = Constructions()
        result = self.run(rehearsal, replace(request, options=options), seen)
        if alone:
            result = _with_loop_notes(result)
        return build_program(result, seen)


def _ignore_clean_exit(script: Callable[[], object]) -> Callable[[], None]:
    """Return a script for which `sys.exit()` without an error counts as its end."""

    def run() -> None:
        try:
            script()
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise

    run.__name__ = getattr(script, "__name__", "run")
    return run


def _with_loop_notes(result: RunResult) -> RunResult:
    """Return the result with notes on its loops over elements and on cut loops."""
    result = with_loops(result)
    story = result.rehearsed.story if result.rehearsed is not None else None
    notes = tuple(Assumption(text) for text in build_cut_notes(story))
    trace = result.trace
    trace = replace(trace, assumptions=(*trace.assumptions, *notes))
    return replace(result, trace=trace)


CALLS_TRIED = 60_000
"""Calls of all runs together in which ways to mend a script are tried."""

FEWEST_TRIES = 6


def _compute_try_budget(calls: int) -> int:
    """Return how many runs may be spent on repairs, given the number of calls per
    run.
    """
    return max(FEWEST_TRIES, min(ALL_TRIES, CALLS_TRIED // max(1, calls)))


def rehearse_command(
    script: str,
    arguments: Sequence[str] = (),
    device: str = "cpu",
    timeout: float | None = None,
    full: bool = False,
    heard: Heard | None = None,
    files: ProgramFiles | None = None,
    stand_ins: StandInSettings | None = None,
) -> Report:
    """Return the findings of `shapewright rehearse`, and the story of the run."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.launchers import is_launch, read_launch
    from shapewright.inputs.target import parse_target
    from shapewright.runtime.claimed_machine import Machine, UnknownDevice

    try:
        machine = Machine(device)
    except UnknownDevice as error:
        raise InputError(str(error)) from None
    launch = None
    if is_launch((script, *arguments)):
        launch = read_launch((script, *arguments))
        script, arguments = launch.script, launch.arguments
        if machine.kind == "cuda" and machine.count == 1 < launch.processes:
            device = f"{launch.processes}x {device}"
    parsed = parse_target(script)
    if parsed.kind != "script":
        raise InputError(f"`{script}` is not a script; `rehearse` takes FILE.py")
    script_run = _Script(parsed, arguments, device, full, files, launch, stand_ins)
    return _check_run(script_run, script, timeout, _Wanted(), heard)


def check_script(
    script: str,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    first: bool = False,
    strict: bool = False,
    files: ProgramFiles | None = None,
) -> Report:
    """Return the findings of `shapewright check` in a script: a rehearsal without its
    story.
    """
    from shapewright.inputs.target import parse_target

    script_run = _Script(parse_target(script), arguments, files=files)
    report = _check_run(script_run, script, timeout, _Wanted(first, strict, alone=True))
    return replace(report, rehearsal=None)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to report of a script: only the `first` finding, every implicit broadcast
    (`strict`), or everything without a story (`alone`).
    """

    first: bool = False
    strict: bool = False
    alone: bool = False


def _check_run(
    script: _Script,
    name: str,
    timeout: float | None,
    wanted: _Wanted,
    heard: Heard | None = None,
) -> Report:
    """Run and explain a script; its fixes are tried in child processes."""
    from shapewright.engine.engine import EngineOptions
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.inputs.configuration import read_ignored_codes
    from shapewright.inputs.python_files import read_source
    from shapewright.runtime.limits import limit_time, redirect_to_stderr
    from shapewright.runtime.run import make_early_trace
    from shapewright.runtime.run_record import RunRequest

    read_source(script.target.place)
    ignored = read_ignored_codes(get_target_folder(script.target))
    if not wanted.alone:  # a rehearsal has a device, where what fails is an error
        ignored |= {CPU_TENSOR}
    rehearsed: Rehearsed | None = None
    whole = False

    def run(gone: Place | None = None) -> Program:
        later = rehearsed.later if rehearsed is not None else None
        if gone and program and _is_late(program, gone, later):
            soon = once(script.rehearsal(hurried=True, whole=whole), gone)
            if any(place[:2] == gone[:2] for place in list_failures(soon)):
                return soon
        return once(script.rehearsal(whole=whole), gone)

    def ended(outcome: Rehearsed) -> None:
        nonlocal rehearsed
        rehearsed = outcome

    def once(rehearsal: RehearsalRequest, gone: Place | None = None) -> Program:
        alone = wanted.alone and gone is None
        request = RunRequest(
            target=name,
            options=EngineOptions(graph=True),
            ended=limit.hold if gone is None else None,
        )
        return script.program(rehearsal, request, gone, alone)

    def told_of(session: Session) -> Report:
        report = session.report()
        if rehearsed is None or (wanted.first and report.findings):
            return report
        story = replace(rehearsed.story, seconds=seconds)
        return replace(report, rehearsal=story)

    program: Program | None = None
    began, seconds = time.perf_counter(), 0.0
    with (
        redirect_to_stderr(),
        limit_time(timeout, hard=True) as limit,
        Trying(run) as trying,
    ):
        try:
            program = once(script.rehearsal(heard=heard, ended=ended))
            seconds = time.perf_counter() - began
            limit.release()
            if _is_doubtful(program, rehearsed):
                whole, rehearsed = True, None
                request = script.rehearsal(heard=heard, ended=ended, whole=True)
                program = once(request)
            seconds = time.perf_counter() - began
            limit.release()
            trying.allowed = 3.0 + 3 * seconds
            session = Session(
                program, trying.again, trying.attempt, wanted.first, ignored,
                wanted.strict,
            )  # fmt: skip
            session.left = _compute_try_budget(len(program.trace.ops))
            return told_of(session)
        except Stopped as stopped:
            limit.hold()
            if program is None:
                program = Program(make_early_trace(name, stopped))
            if rehearsed is not None:
                program.rehearsal = rehearsed.story
            session = Session(
                program, first=wanted.first, ignored=ignored, strict=wanted.strict
            )
            return told_of(session)


def trace_script(
    script: str,
    request: RunRequest,
    arguments: Sequence[str] = (),
    files: ProgramFiles | None = None,
    limit: Limit | None = None,
) -> Trace:
    """Trace a script; its loops end when further iterations bring nothing new.

    It is run once more with all turns if it failed behind a cut and time is left.
    """
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.inputs.target import parse_target

    script_run = _Script(parse_target(script), arguments, files=files)
    result = script_run.run(script_run.rehearsal(), request, Constructions())
    ended = limit is not None and limit.is_over
    jumped = result.rehearsed is not None and result.rehearsed.jumped is not None
    if not result.trace.complete and jumped and not ended:
        if limit is not None:
            limit.release()
        result = script_run.run(
            script_run.rehearsal(whole=True), request, Constructions()
        )
    return _with_loop_notes(result).trace


def _is_doubtful(program: Program, rehearsed: Rehearsed | None) -> bool:
    """Return whether something failed after a cut of a loop that does not train.

    What the turns that were left out leave behind may be more than is known of it; a
    whole run decides.
    """
    jumped = rehearsed.jumped if rehearsed is not None else None
    if jumped is None:
        return False
    met = [failure.op for failure in program.failures]
    return not program.trace.complete or any(index >= jumped for index in met)


def _is_late(program: Program, gone: Place, later: int | None) -> bool:
    """Return whether a run reaches the failure at `gone` only after an iteration of
    some loop.

    `later` is how many calls there were before the second turn of any.
    """
    if later is None or not gone[1]:
        return False
    met = [
        failure.op
        for failure in program.failures
        if get_place(program, failure) == gone
    ]
    return min(met, default=len(program.trace.ops)) >= later


def rehearse_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    steps: int | None = None,
    device: str | None = None,
    full: bool = False,
) -> Report:
    """Return the findings of `shapewright.rehearse` in a function, and the story of the
    run.
    """
    from shapewright.engine.engine import EngineOptions, GoingOn
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.inputs.configuration import read_ignored_codes
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.python_files import change_functions
    from shapewright.runtime.claimed_machine import Machine, UnknownDevice
    from shapewright.runtime.restore.process_state import guard_surroundings
    from shapewright.runtime.restore.surroundings import find_place, keep_owned
    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest
    from shapewright.runtime.training.rehearsal import RehearsalRequest, RepeatedCalls

    if device is not None:
        try:
            Machine(device)
        except UnknownDevice as error:
            raise InputError(str(error)) from None
    if not callable(target):
        raise TypeError(f"`{target!r}` cannot be called; `rehearse` takes a function")
    if steps is not None and steps < 1:
        raise ValueError(f"steps={steps}: a function is called once or more")
    args, kwargs, letters = feed_arguments(args, kwargs)
    ignored = read_ignored_codes(find_folder(target))
    place = find_place(target)
    holds = _build_file_test(place[0])
    rehearsal = RehearsalRequest(
        holds, device, full, repeats=RepeatedCalls(place, steps)
    )
    name = getattr(target, "__name__", type(target).__name__)

    def run(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    run.__name__ = name
    request = RunRequest(
        target=name,
        letters=letters,
        options=EngineOptions(graph=True, going_on=GoingOn()),
        rehearsal=rehearsal,
    )
    seen = Constructions()
    with (
        keep_owned(target, (args, kwargs)),
        guard_surroundings(),
        seen.watched(),
        change_functions(holds, with_loops_told),
    ):
        result = record_run(run, args, kwargs, request)
        if not result.trace.complete or result.failures:
            refuse_sizes("rehearse", target, args, kwargs)
    program = build_program(result, seen)
    report = Session(program, ignored=ignored).report()
    if result.rehearsed is None:
        return report
    story = replace(result.rehearsed.story, seconds=result.trace.seconds)
    return replace(report, rehearsal=story)


def _build_file_test(file: str) -> Callable[[str], bool]:
    """Return a predicate for the files of a function's folder, and its own file."""
    from shapewright.inputs.python_files import ProgramFolder

    files = (
        ProgramFolder(Path(os.path.abspath(file)).parent)
        if os.path.isfile(file)
        else None
    )

    def holds(other: str) -> bool:
        return other == file or (files is not None and files.holds(other))

    return holds
