"""The commands `trace` and `check` for a model, a script, or everything that a file
defines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shapewright.commands.trace import Fed, build_failed_trace, run_target, with_loops
from shapewright.findings.codes import PROGRAM_EXIT
from shapewright.findings.finding import Finding
from shapewright.inputs.errors import InputError
from shapewright.inputs.python_files import format_file, read_source
from shapewright.inputs.target import parse_target
from shapewright.program.runnable_definitions import (
    Runnable,
    find_outermost,
    find_runnables,
)
from shapewright.record.report import ChosenInputs, Report, Skipped
from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from shapewright.runtime.files.program_files import ProgramFiles


def _has_run(trace: Trace, file: str, runnable: Runnable) -> bool:
    """Return whether a run called the forward of a class, or ran lines of a
    function.
    """
    if runnable.kind == "class":
        return any(call.class_name == runnable.name for call in trace.calls)
    if runnable.kind != "function":
        return False
    return any(
        frame.span.file == file and runnable.first <= frame.span.line <= runnable.last
        for op in trace.ops
        for frame in op.frames
    )


def _has_no_calls(trace: Trace, file: str, runnables: Iterable[Runnable]) -> bool:
    """Return whether a script that ran made no call of a module or a tensor function.

    What it builds, and constants at its top level, are definitions too. One that was
    ended by an error or for its time does not count, one that called `sys.exit` does.
    """
    if not trace.complete and not _has_exited(trace):
        return False
    if any(call.parent is not None for call in trace.calls):
        return False
    return not any(_has_run(trace, file, runnable) for runnable in runnables)


def _has_exited(trace: Trace) -> bool:
    """Return whether the program called `sys.exit`, as argparse does."""
    return not trace.complete and any(
        finding.code == PROGRAM_EXIT for finding in trace.findings[-1:]
    )


Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a command: the trace, as far as the program got.

    Of a script that only defines things there are `parts`, a trace of each of them that
    could be run, and `skipped`. `chosen` are inputs that nobody gave.
    """

    trace: Trace
    chosen: ChosenInputs | None = None
    parts: tuple[Trace, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return 1 with findings other than notes or if the run is incomplete, else
        0.
        """
        if self.parts:
            return max(Outcome(part).exit_code for part in self.parts)
        has_findings = any(
            finding.severity != "note" for finding in self.trace.findings
        )
        return 1 if has_findings or not self.trace.complete else 0


@dataclass(frozen=True, slots=True)
class Manner:
    """The settings of `trace_target`, with which one or several targets are run."""

    arguments: Sequence[str]
    timeout: float | None
    progress: Progress | None
    abandoned: Callable[[Outcome], None] | None
    watch: Any
    files: ProgramFiles | None
    training: bool | None = None


def trace_command(target: str, spec: str | None, how: Manner) -> Outcome:
    """Return the result of `shapewright trace`; for a file of definitions, that of all
    its parts.
    """
    if parse_target(target).kind == "folder":
        return _trace_folder(target, spec, how)
    outcome = _trace_one(target, spec, how)
    if how.watch is not None:
        return outcome
    from shapewright.record.report import Report

    def report_of(name: str, outcome: Outcome) -> Report:
        trace = outcome.trace
        findings = tuple(trace.findings)
        return Report(name, findings, (), trace.complete, trace, chosen=outcome.chosen)

    whole = _with_definitions(
        report_of(target, outcome),
        target,
        lambda name, declared: report_of(name, _trace_one(name, None, how, declared)),
    )
    _refuse_mode(target, whole, how.training)
    parts = tuple(part.trace for part in whole.parts if part.trace is not None)
    return replace(outcome, parts=parts, skipped=whole.skipped)


def _trace_folder(target: str, spec: str | None, how: Manner) -> Outcome:
    """Return the traces of all models that a folder defines."""
    from shapewright.inputs.folders import find_models

    if spec is not None:
        raise InputError(
            f"-i is for one model, and `{target}` is a folder; name a model"
        )
    files, skipped = find_models(target)
    parts: list[Trace] = []
    for file in files:
        try:
            outcome = trace_command(file, None, how)
        except InputError as error:
            skipped.append(Skipped(file, error.message))
            continue
        parts += outcome.parts or (outcome.trace,)
        skipped += outcome.skipped
    if not parts:
        raise InputError(_describe_nothing_checked(target, skipped))
    return Outcome(replace(parts[0], target=target), None, tuple(parts), tuple(skipped))


def _trace_one(
    target: str,
    spec: str | None,
    how: Manner,
    declared: bool = True,
) -> Outcome:
    """Trace a single target, as `trace_command` describes."""
    from shapewright.inputs.errors import ProgramError
    from shapewright.inputs.python_files import read_source
    from shapewright.inputs.spec import parse_spec
    from shapewright.inputs.target import parse_target

    parsed = parse_target(target, how.arguments)
    input_spec = parse_spec(spec) if spec is not None else None
    if parsed.kind in ("file", "script"):
        read_source(parsed.place)  # a mistake in it is told before torch is loaded
    from shapewright.commands.rehearse import trace_script
    from shapewright.commands.solve import run_lettered
    from shapewright.engine.engine import EngineOptions
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.runtime.files.program_files import ProgramFiles, add_process_notes
    from shapewright.runtime.limits import limit_time, redirect_to_stderr
    from shapewright.runtime.restore.process_state import guard_surroundings
    from shapewright.runtime.run import make_early_trace
    from shapewright.runtime.run_record import RunRequest, UnderWay

    under_way = UnderWay()
    with redirect_to_stderr() as end:

        def last(stopped: Stopped) -> None:
            end()
            early_trace = (under_way.so_far or partial(make_early_trace, target))(
                stopped
            )
            if how.abandoned is not None:
                how.abandoned(Outcome(early_trace))

        with limit_time(how.timeout, hard=True, last=last) as limit:
            request = RunRequest(
                target=target,
                options=EngineOptions(watch=how.watch),
                progress=how.progress,
                ended=limit.hold,
                under_way=under_way,
            )
            try:
                if parsed.kind == "script" and input_spec is None:
                    trace = trace_script(
                        target, request, how.arguments, how.files, limit
                    )
                    return Outcome(trace)
                took: list[Fed] = []
                with (
                    guard_surroundings(),
                    (how.files or ProgramFiles()).kept() as layer,
                ):
                    result = run_target(
                        parsed, input_spec, request, run_lettered, took, declared,
                        how.training,
                    )  # fmt: skip
                    chosen = took[0].chosen if took else None
                    return Outcome(
                        add_process_notes(with_loops(result).trace, layer), chosen
                    )
            except ProgramError as error:
                return Outcome(build_failed_trace(target, error))
            except Stopped as stopped:
                return Outcome(make_early_trace(target, stopped))


Check = Callable[[str, bool], Report]
"""Checks a target; with True the file's `example_inputs` are its inputs."""


def _with_definitions(
    report: Report, target: str, check: Check, first: bool = False
) -> Report:
    """Return the report of a script, or of all its definitions if it does nothing else.

    Raises `InputError` where nothing in the file can be checked.
    """
    parsed = parse_target(target)
    if parsed.kind != "script" or report.trace is None:
        return report
    runnables = find_runnables(read_source(parsed.place)[1])
    trace, file = report.trace, format_file(parsed.place)
    if not _has_no_calls(trace, file, runnables):
        return report
    if not runnables:
        if trace.ops or _has_exited(trace):
            return report
        raise InputError(
            f"`{target}` made no tensor call, and it defines no module class and no"
            f" tensor function; name what to run, as in `{target}:Net`"
        )
    under_way = _Checks(target, file, check, first, runnables)
    if trace.complete and report.findings:
        under_way.parts.append(report)
    if _has_exited(trace):
        reason = trace.findings[-1].message
        under_way.skipped.append(Skipped(target, f"run as a script, {reason}"))
    under_way.conduct()
    return under_way.report(report)


def _refuse_mode(target: str, report: Report, training: bool | None) -> None:
    """Raise `InputError` for a mode that is given to a script."""
    is_script = parse_target(target).kind == "script" and not report.parts
    if training is not None and is_script and report.complete:
        option = "--train" if training else "--eval"
        raise InputError(
            f"`{option}` is for a model, and a script sets modes itself; name the"
            f" model, as in `{target}:Net`"
        )


def _refuse_empty(report: Report, target: str) -> None:
    """Raise `InputError` for a function that did nothing that could be checked."""
    trace = report.trace
    if trace is None or report.findings or not trace.complete:
        return
    if parse_target(target).kind == "script":
        return
    calls, own = trace.calls, [op for op in trace.ops if op.inputs]
    if not own and len(calls) == 1 and calls[0].method == "call":
        raise InputError(
            f"`{target}` made no tensor call, so there is nothing to check; if it"
            f" builds a model, write `{target}()`"
        )


@dataclass(slots=True)
class _Checks:
    """The checks of a file, in progress."""

    target: str
    file: str
    check: Check
    first: bool
    runnables: Sequence[Runnable]
    parts: list[Report] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    checked: list[Runnable] = field(default_factory=list)

    def conduct(self) -> None:
        """Check the parts that no other part uses first; parts that ran inside are
        covered.
        """
        declared = True
        roots = find_outermost(self.runnables)
        rest = [
            runnable for runnable in reversed(self.runnables) if runnable not in roots
        ]
        for runnable in (*roots, *rest):
            if self.first and any(part.findings for part in self.parts):
                return
            root = runnable in roots
            if self._is_covered(runnable, root):
                continue
            if runnable.needs:
                self._skip(runnable, _describe_needs(self.target, runnable))
                continue
            try:
                part = self.check(self._name(runnable), declared and root)
            except InputError as error:
                if root or not self._is_used(runnable):
                    self._skip(runnable, error.message)
                continue
            declared = declared and (part.chosen is not None or not root)
            self.parts.append(part)
            self.checked.append(runnable)

    def _is_covered(self, runnable: Runnable, root: bool) -> bool:
        """Return whether a part already ran inside a checked part, constructed in the
        same way.
        """
        if runnable.kind == "class" and not runnable.needs and not root:
            instances = [other for other in self.checked if other.kind == "instance"]
            return any(runnable.name in other.uses for other in instances)
        if runnable.kind == "builder" and self._is_used(runnable):
            return True
        traces = [part.trace for part in self.parts if part.trace is not None]
        return any(_has_run(trace, self.file, runnable) for trace in traces)

    def _is_used(self, runnable: Runnable) -> bool:
        return any(runnable.name in other.uses for other in self.checked)

    def _skip(self, runnable: Runnable, reason: str) -> None:
        self.skipped.append(Skipped(self._name(runnable), reason))

    def _name(self, runnable: Runnable) -> str:
        return f"{self.target}:{runnable.name}"

    def report(self, script: Report) -> Report:
        """Return a report that combines all checks."""
        if not self.parts:
            raise InputError(_describe_nothing_checked(self.target, self.skipped))
        findings: dict[object, Finding] = {}
        for part in self.parts:
            for finding in part.findings:
                span = finding.span
                place = (span.file, span.line, span.column) if span else finding.message
                findings.setdefault((finding.code, place), finding)
        assumptions = [
            assumption for part in self.parts for assumption in part.assumptions
        ]
        return replace(
            script,
            findings=tuple(findings.values()),
            assumptions=tuple(dict.fromkeys(assumptions)),
            complete=all(part.complete for part in self.parts),
            chosen=_collect_choices(self.parts),
            parts=tuple(self.parts),
            skipped=tuple(self.skipped),
        )


def _describe_needs(target: str, runnable: Runnable) -> str:
    names = ", ".join(f"`{name}`" for name in runnable.needs)
    values = ", ".join(f"{name}=..." for name in runnable.needs)
    return f'it needs {names}; write "{target}:{runnable.name}({values})"'


def _describe_nothing_checked(target: str, skipped: Sequence[Skipped]) -> str:
    """Return the sentence for a file in which nothing could be checked."""
    lines = "".join(f"\n  {definition}" for definition in skipped)
    first = skipped[-1].target if skipped else f"{target}:Net"
    return (
        f"`{target}` only contains definitions, and none of them can be checked as it "
        "is;"
        f' write `shapewright check -i "f32[...]" {first}`{lines}'
    )


def _collect_choices(parts: Sequence[Report]) -> ChosenInputs | None:
    """Return the inputs that were chosen for the parts, leaving out all other parts."""
    chosen = [(part.target, part.chosen) for part in parts if part.chosen is not None]
    if not chosen:
        return None
    inputs = "; ".join(f"{name}: {choice.inputs}" for name, choice in chosen)
    return ChosenInputs(inputs, chosen[0][1].again)


def check_command(
    target: str,
    spec: str | None,
    arguments: Sequence[str],
    timeout: float | None,
    first: bool,
    strict: bool,
    files: ProgramFiles | None,
    training: bool | None = None,
) -> Report:
    """Return the findings of `shapewright check`; for a file of definitions, those of
    all its parts.
    """

    def check_one(name: str, inputs: str | None, declared: bool) -> Report:
        from shapewright.commands import check

        return check.check_one_target(
            name, inputs, timeout, first, strict, arguments, files, declared, training
        )

    if spec is None and parse_target(target, arguments).kind == "script":
        from shapewright.commands.rehearse import check_script

        report = check_script(target, arguments, timeout, first, strict, files)
    else:
        report = check_one(target, spec, True)
    report = _with_definitions(
        report, target, lambda name, declared: check_one(name, None, declared), first
    )
    _refuse_empty(report, target)
    _refuse_mode(target, report, training)
    return report
