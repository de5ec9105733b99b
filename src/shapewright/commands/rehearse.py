"""Rehearse a script or a training function: run it, explain it, and
summarise the run.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapewright.commands.check import (
    Gone,
    Session,
    Trying,
    build_program,
    find_folder,
    get_place,
    get_target_folder,
    is_refused_again,
)
from shapewright.commands.check.fix_trials import has_many_calls
from shapewright.commands.check.fixes import count_layers
from shapewright.commands.rehearsed_memory import (
    add_memory,
    build_storages,
    describe_storages,
    is_memory_wanted,
    plan_memory_run,
)
from shapewright.commands.rehearsed_scripts import RehearsedScript, add_loop_notes
from shapewright.commands.trace import feed_arguments
from shapewright.findings.codes import (
    CODES,
    CPU_TENSOR,
    LENGTHS_ON_GPU,
    MIXED_DEVICES,
    TO_NUMPY,
)
from shapewright.program.loop_instrumentation import with_loops_told
from shapewright.runtime.processes.child_processes import is_own_process

if TYPE_CHECKING:
    from shapewright.analysis.program_run import Program
    from shapewright.findings.finding import Finding
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


def rehearse_command(
    script: str,
    arguments: Sequence[str] = (),
    device: str | None = None,
    timeout: float | None = None,
    full: bool = False,
    heard: Heard | None = None,
    files: ProgramFiles | None = None,
    stand_ins: StandInSettings | None = None,
    memory: bool | None = None,
) -> Report:
    """Return the findings of `shapewright rehearse`, and the story of the run.

    Its memory is recorded for a GPU that is named, or as `memory` says. Without a
    `device` the script finds a CPU; one that asks for a GPU and has no error runs once
    more with one, for tensors that stay behind on the CPU.
    """
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.launchers import is_launch, read_launch
    from shapewright.inputs.target import parse_target
    from shapewright.runtime.named_machines import Machine, UnknownDevice

    looks_at_gpu = device is None
    device = device or "cpu"
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
    script_run = RehearsedScript(
        parsed, arguments, device, full, files, launch, stand_ins
    )
    wanted = _Wanted(memory=is_memory_wanted(machine, memory))
    report = _check_run(script_run, script, timeout, wanted, heard)
    if looks_at_gpu and launch is None and _is_for_gpu(script_run, report):
        on_gpu = replace(script_run, device="cuda")
        seconds = min(timeout or GPU_SECONDS, GPU_SECONDS)
        report = _add_gpu_errors(report, on_gpu, script, seconds)
    return report


def _is_for_gpu(script: RehearsedScript, report: Report) -> bool:
    """Return whether a script without errors takes a GPU where there is one, and was
    quick.
    """
    from shapewright.inputs.python_files import read_source

    story = report.rehearsal
    if story is None or not report.complete or story.seconds > QUICK:
        return False
    if any(finding.severity == "error" for finding in report.findings):
        return False
    return ASKING.search(read_source(script.target.place)[0]) is not None


def _add_gpu_errors(
    report: Report, script: RehearsedScript, name: str, seconds: float
) -> Report:
    """Return a report with the tensors that are on the wrong device where there is a
    GPU.

    What the program prints in this second run is not shown. It may take so many
    seconds; what it does not reach by then is left as it is.
    """
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        other = _check_run(script, name, seconds, _Wanted(devices=True))
    errors = [
        replace(finding, message=f"with a GPU: {finding.message}")
        for finding in other.findings
        if _is_of_device(finding)
    ]
    return replace(report, findings=(*errors, *report.findings))


ASKING = re.compile(r"\b(cuda|accelerator)\.is_available\(\)")
"""What a script says that takes a GPU where there is one."""
QUICK = 10.0
"""Seconds that a rehearsal may have taken to be run once more, as on a GPU."""
GPU_SECONDS = 20.0
"""Seconds that this second run may take."""
LONG = 1.0
"""Seconds of a run from which on each trial of a fix has a process of its own: that
takes less than to make the best one again, alone.
"""


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

    script_run = RehearsedScript(parse_target(script), arguments, files=files)
    report = _check_run(script_run, script, timeout, _Wanted(first, strict, alone=True))
    return replace(report, rehearsal=None)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to report of a script: only the `first` finding, every implicit broadcast
    (`strict`), or everything without a story (`alone`); and whether its `memory` is.
    With `devices` nothing but tensors on several devices.
    """

    first: bool = False
    strict: bool = False
    alone: bool = False
    memory: bool = False
    devices: bool = False


def _check_run(
    script: RehearsedScript,
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

    def run(gone: Gone | None = None) -> Program:
        later = rehearsed.later if rehearsed is not None else None
        if gone and program and _is_hurried(program, gone, later):
            soon = once(script.rehearsal(hurried=True, whole=whole), gone)
            if is_refused_again(soon, gone) or _is_told_soon(program, soon):
                return soon
        return once(script.rehearsal(whole=whole), gone)

    def ended(outcome: Rehearsed) -> None:
        nonlocal rehearsed
        rehearsed = outcome

    def once(rehearsal: RehearsalRequest, gone: Gone | None = None) -> Program:
        alone = wanted.alone and gone is None
        request = RunRequest(
            target=name,
            options=EngineOptions(graph=True),
            ended=limit.hold if gone is None else None,
        )
        return script.program(rehearsal, request, gone, alone)

    def told_of(session: Session) -> Report:
        report = _add_hindrance(session.report(), name)
        if rehearsed is None or (wanted.first and report.findings):
            return report
        story = replace(rehearsed.story, seconds=seconds)
        return replace(report, rehearsal=story)

    program: Program | None = None
    began, seconds = time.perf_counter(), 0.0
    with (
        redirect_to_stderr(),
        limit_time(timeout, hard=not wanted.devices) as limit,
        Trying(run) as trying,
    ):
        try:
            program = once(
                script.rehearsal(heard=heard, ended=ended, hurried=wanted.devices)
            )
            met = program.failures or program.trace.findings
            if wanted.devices and not met:
                return Session(program, ignored=set(CODES)).report()
            seconds = time.perf_counter() - began
            limit.release()
            if _is_doubtful(program, rehearsed):
                whole, rehearsed = True, None
                request = script.rehearsal(heard=heard, ended=ended, whole=True)
                program = once(request)
            seconds = time.perf_counter() - began
            limit.release()
            if wanted.memory and rehearsed is not None:
                rehearsed = add_memory(script, rehearsed, whole, limit)
                program.rehearsal = rehearsed.story
                limit.release()
            trying.allowed = 5.0 + 3 * seconds  # an error ended it early
            trying.long = seconds > LONG
            session = Session(
                program, trying.attempt, again=trying.again, first=wanted.first,
                ignored=ignored, strict=wanted.strict,
            )  # fmt: skip
            session.limit_tries(seconds)
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


def _add_hindrance(report: Report, name: str) -> Report:
    """Return a report that says why no fix of its errors was tried, where torch makes
    no backward pass in a forked process.
    """
    from shapewright.runtime.processes.forks import has_backward_in_forks

    def is_bare(finding: Finding) -> bool:
        return finding.severity == "error" and not finding.fixes

    bare = any(map(is_bare, report.findings))
    if not bare or is_own_process() or has_backward_in_forks():
        return report
    note = (
        "fixes could not be tried: this process has made a backward pass with a GPU, "
        f"and torch makes none in its forks; `shapewright rehearse {name}` tries them"
    )
    findings = (
        replace(finding, lines=(*finding.lines, note)) if is_bare(finding) else finding
        for finding in report.findings
    )
    return replace(report, findings=tuple(findings))


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

    script_run = RehearsedScript(parse_target(script), arguments, files=files)
    result = script_run.run(script_run.rehearsal(), request, Constructions())
    ended = limit is not None and limit.is_over
    jumped = result.rehearsed is not None and result.rehearsed.jumped is not None
    if not result.trace.complete and jumped and not ended:
        if limit is not None:
            limit.release()
        result = script_run.run(
            script_run.rehearsal(whole=True), request, Constructions()
        )
    return add_loop_notes(result).trace


def _is_of_device(finding: Finding) -> bool:
    """Return whether an error is one of where tensors are: on several devices, or on a
    GPU where NumPy or an argument needs the CPU.
    """
    return finding.severity == "error" and finding.code in OF_DEVICES


OF_DEVICES = (MIXED_DEVICES, TO_NUMPY, LENGTHS_ON_GPU)
"""Codes of errors that a script without errors on the CPU has on a GPU only."""


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


def _is_told_soon(program: Program, soon: Program) -> bool:
    """Return whether a trial with one turn of each loop says enough: a whole one has
    many calls, and this one ended and ran as many layers.
    """
    is_ended = soon.trace.complete and count_layers(soon) >= count_layers(program)
    return is_ended and has_many_calls(program)


def _is_hurried(program: Program, gone: Gone, later: int | None) -> bool:
    """Return whether a trial first has one turn of each loop: a whole run reaches the
    failure at `gone` only after an iteration of some loop, or has many calls.

    `later` is how many calls there were before the second turn of any.
    """
    if later is None or not gone[1]:
        return False
    if has_many_calls(program):
        return True
    met = [
        failure.op
        for failure in program.failures
        if get_place(program, failure) == gone[:3]
    ]
    return min(met, default=len(program.trace.ops)) >= later


def rehearse_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    steps: int | None = None,
    device: str | None = None,
    full: bool = False,
    memory: bool | None = None,
) -> Report:
    """Return the findings of `shapewright.rehearse` in a function, and the story of the
    run.

    Its memory is recorded for a GPU that is named, or as `memory` says, by a run more.
    """
    from shapewright.engine.engine import EngineOptions, GoingOn
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.inputs.configuration import read_ignored_codes
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.python_files import change_functions
    from shapewright.runtime.limits import redirect_to_nowhere
    from shapewright.runtime.named_machines import Machine, UnknownDevice
    from shapewright.runtime.restore.process_state import guard_surroundings
    from shapewright.runtime.restore.surroundings import find_place, keep_owned
    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest
    from shapewright.runtime.training.rehearsal import RehearsalRequest, RepeatedCalls

    try:
        machine = Machine(device or "cpu")
    except UnknownDevice as error:
        raise InputError(str(error)) from None
    is_measured = is_memory_wanted(machine, memory)
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

    def run_once(request: RunRequest, seen: Constructions) -> RunResult:
        with (
            keep_owned(target, (args, kwargs)),
            guard_surroundings(),
            seen.watched(),
            change_functions(holds, with_loops_told),
        ):
            result = record_run(run, args, kwargs, request)
            if not result.trace.complete or result.failures:
                refuse_sizes("rehearse", target, args, kwargs)
        return result

    seen = Constructions()
    result = run_once(request, seen)
    if is_measured and result.rehearsed is not None:
        storages = build_storages(machine)
        again = replace(
            request, options=plan_memory_run(storages),
            rehearsal=replace(rehearsal, memory=storages),
        )  # fmt: skip
        with redirect_to_nowhere():
            trace = run_once(again, Constructions()).trace
        story = replace(
            result.rehearsed.story, memory=describe_storages(machine, storages, trace)
        )
        result = replace(result, rehearsed=replace(result.rehearsed, story=story))
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
