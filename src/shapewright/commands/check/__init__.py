"""Check a model or a command-line target: run it past its errors, find their causes,
and try fixes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shapewright.analysis.program_run import Program
from shapewright.commands.check.fixes import (
    Gone,
    Refused,
    Trying,
    get_place,
    is_refused_again,
)
from shapewright.commands.check.session import Session
from shapewright.commands.trace import (
    Fed,
    build_failed_trace,
    feed_arguments,
    run_target,
    trace_found_inputs,
    with_loops,
)
from shapewright.record.trace import Trace

__all__ = [
    "Gone",
    "Session",
    "Trying",
    "build_program",
    "check_model",
    "check_one_target",
    "explain_real_error",
    "find_folder",
    "get_place",
    "get_target_folder",
    "is_refused_again",
    "plan_continuation",
]

if TYPE_CHECKING:
    from shapewright.engine.engine import GoingOn
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.findings.finding import Finding
    from shapewright.inputs.spec import Spec
    from shapewright.inputs.target import Target
    from shapewright.record.report import Report
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.run_record import RunResult


def check_model(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
    """Return the findings of `shapewright.check` for a live model or function."""
    from shapewright.commands.check.fitting_sizes import add_fitting_sizes
    from shapewright.commands.check.other_sizes import (
        add_letter_lines,
        build_runner,
        with_edges,
    )
    from shapewright.engine.engine import EngineOptions, GoingOn
    from shapewright.inputs.call_mistakes import refuse_sizes
    from shapewright.inputs.configuration import read_ignored_codes
    from shapewright.inputs.spec import parse_spec
    from shapewright.runtime.restore.snapshot import find_module
    from shapewright.runtime.run import record_run
    from shapewright.runtime.run_record import RunRequest

    request = RunRequest(options=EngineOptions(going_on=GoingOn()))
    took: list[Fed] = []
    if not args and not kwargs:
        search_result = trace_found_inputs(target, request, took)
        result = (
            search_result
            if search_result is not None
            else record_run(target, (), {}, request)
        )
    else:
        spec = parse_spec(args[0]) if _is_one_spec(args, kwargs) else None
        args, kwargs, letters = feed_arguments(args, kwargs)
        took.append(Fed(target, find_module(target), args, kwargs, spec))
        result = record_run(target, args, kwargs, replace(request, letters=letters))
        if not result.trace.complete or result.failures:
            refuse_sizes("check", target, args, kwargs)
    ignored = read_ignored_codes(find_folder(target))
    program = build_program(with_loops(result), None)
    report = _with_choice(Session(program, ignored=ignored).report(), took)
    report = add_letter_lines(report, program, took)
    run = build_runner(
        took, lambda sized_result: build_program(sized_result, None), True
    )
    report = add_fitting_sizes(report, took, lambda asked: [*map(run, asked)])
    return with_edges(report, program, took, lambda asked: [*map(run, asked)], ignored)


def _is_one_spec(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a single string holds all inputs."""
    return len(args) == 1 and isinstance(args[0], str) and not kwargs


def check_one_target(
    target: str,
    spec: str | None,
    timeout: float | None,
    first: bool,
    strict: bool,
    arguments: Sequence[str] = (),
    files: ProgramFiles | None = None,
    declared: bool = True,
    training: bool | None = None,
) -> Report:
    """Return the findings of `shapewright check`; fixes are tried in child processes.

    Without `declared`, the file's `example_inputs` belong to another of its models.
    """
    from shapewright.commands.check.fitting_sizes import add_fitting_sizes
    from shapewright.commands.check.fixes import count_processors
    from shapewright.commands.check.other_sizes import (
        add_letter_lines,
        build_runner,
        with_edges,
    )
    from shapewright.engine.engine import EngineOptions
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.inputs.configuration import read_ignored_codes
    from shapewright.inputs.errors import ProgramError
    from shapewright.inputs.python_files import read_source
    from shapewright.inputs.spec import parse_spec
    from shapewright.inputs.target import parse_target
    from shapewright.runtime.files.program_files import ProgramFiles, add_process_notes
    from shapewright.runtime.limits import limit_time, redirect_to_stderr
    from shapewright.runtime.processes.forks import Children
    from shapewright.runtime.restore.process_state import guard_surroundings
    from shapewright.runtime.run import make_early_trace
    from shapewright.runtime.run_record import RunRequest, RunResult

    parsed = parse_target(target, arguments)
    input_spec = parse_spec(spec) if spec is not None else None
    if parsed.kind in ("file", "script"):
        read_source(parsed.place)
    ignored = read_ignored_codes(get_target_folder(parsed))

    took: list[Fed] = []
    seen = Constructions()
    inputs = input_spec

    def run(gone: Gone | None = None, loops: bool = False) -> Program:
        nonlocal seen, inputs
        request = RunRequest(
            target=target,
            options=EngineOptions(going_on=plan_continuation(gone)),
            ended=limit.hold if gone is None else None,
        )
        seen = Constructions()
        if inputs is None:
            inputs = _get_chosen_spec(took)
        try:
            with guard_surroundings(), seen.watched():
                result = run_target(
                    parsed, inputs, request, None, took, declared, training
                )
        except ProgramError as error:
            result = RunResult(build_failed_trace(target, error))
        if loops:
            result = with_loops(result)
            result = replace(result, trace=add_process_notes(result.trace, layer))
        return build_program(result, seen)

    kept = (files or ProgramFiles()).kept()
    program: Program | None = None
    with (
        redirect_to_stderr(), limit_time(timeout, hard=True) as limit, kept as layer,
        Trying(run) as trying,
    ):  # fmt: skip
        try:
            began = time.perf_counter()
            program = run(loops=True)
            limit.release()
            trying.allowed = 3.0 + 30 * (time.perf_counter() - began)
            session = Session(
                program, trying.attempt, again=trying.again, first=first,
                ignored=ignored, strict=strict,
            )  # fmt: skip
            report = _with_choice(session.report(), took)
            sized = build_runner(
                took, lambda sized_result: build_program(sized_result, seen)
            )
            if first and report.findings:
                return report
            report = add_letter_lines(report, program, took)
            with Children(sized, trying.allowed, count_processors()) as other:
                report = add_fitting_sizes(report, took, other.each)
                return with_edges(report, program, took, other.each, ignored)
        except Stopped as stopped:
            limit.hold()
            if program is None:
                program = Program(make_early_trace(target, stopped))
            session = Session(program, first=first, ignored=ignored, strict=strict)
            return _with_choice(session.report(), took)


def explain_real_error(error: BaseException) -> tuple[Finding, Trace, str] | None:
    """Return the finding on an error of a real run, the trace to show it with, and how
    its fixes were tried; or None.

    Where a script ended with the error, a rehearsal of the script may say more.
    """
    from shapewright.commands.check.real_errors import explain_error
    from shapewright.commands.check.script_errors import (
        explain_script_error,
        rehearse_script_of,
    )

    with rehearse_script_of(error) as running:
        known = explain_error(error)
        whole = explain_script_error(error, running, known[0] if known else None)
    fixes = known[0].fixes if known is not None else ()
    if fixes and whole is not None and known is not None and whole[0].fixes is fixes:
        known, whole = (whole[0], known[1]), None  # with places of the rehearsal
    if whole is not None:
        return *whole, "checked by a rehearsal"
    return (*known, "tried on this call only") if known is not None else None


def _get_chosen_spec(took: list[Fed]) -> Spec | None:
    """Return the inputs that an earlier run chose, for the trials of fixes, or None."""
    return took[0].spec if took and took[0].chosen is not None else None


def _with_choice(report: Report, took: list[Fed]) -> Report:
    """Return the report with a note on its inputs, if these were chosen."""
    return replace(report, chosen=took[0].chosen) if took else report


def find_folder(target: Any) -> str | None:
    """Return the folder of the file that defines a function or the class of a model, or
    None.
    """
    owner = target if hasattr(target, "__qualname__") else type(target)
    module = sys.modules.get(getattr(owner, "__module__", None) or "")
    file: str | None = getattr(module, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else None


def get_target_folder(parsed: Target) -> str | None:
    """Return the folder of a target that is a file, or None."""
    if parsed.kind not in ("file", "script"):
        return None
    place: str = os.path.abspath(parsed.place)
    return os.path.dirname(place)


def plan_continuation(gone: Gone | None) -> GoingOn:
    """Return how a run continues after errors; the trial of a fix ends at the failure
    `gone`.
    """
    from shapewright.engine.engine import GoingOn

    if gone is None:
        return GoingOn()
    place = (os.path.abspath(gone[0]), gone[1])
    refusal = gone.refusal if isinstance(gone, Refused) else ""
    return GoingOn(quick=True, gone=place, refusal=refusal)


def build_program(result: RunResult, seen: Constructions | None) -> Program:
    """Return the program to analyse; `seen` holds the modules that it constructed."""
    ending = result.ending() if result.ending is not None else None
    if seen is None:
        return Program(result.trace, result.failures, ending=ending)
    built, sources, loads = seen.places(result.modules, os.getcwd())
    texts = {
        name: source.text for name, source in sources.items() if source.text is not None
    }
    program = Program(result.trace, result.failures, built, texts, tuple(loads), ending)
    program.batches = result.batches
    program.data_values = result.data_values
    if result.rehearsed is not None:
        program.remainders = result.rehearsed.remainders
        program.lists = result.rehearsed.lists
        program.rehearsal = result.rehearsed.story
    return program
