"""`trace` of a command-line target: one model, a script, or all that a file defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shapewright.trace.record import Trace
from shapewright.tracing import Fed, run_target, unborn, with_loops

if TYPE_CHECKING:
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.trace.report import Chosen, Report, Skipped

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command gets: the trace, as far as the program came.

    Of a script that only defines things there are `parts`, a trace of each of them that
    could be run, and `skipped`. `chosen` are inputs that nobody gave.
    """

    trace: Trace
    chosen: Chosen | None = None
    parts: tuple[Trace, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 clean, 1 with findings; a note alone is none."""
        if self.parts:
            return max(Outcome(each).exit_code for each in self.parts)
        found = any(each.severity != "note" for each in self.trace.findings)
        return 1 if found or not self.trace.complete else 0


@dataclass(frozen=True, slots=True)
class Manner:
    """How one target is run, or each of several: what `trace_target` is given."""

    arguments: Sequence[str]
    timeout: float | None
    progress: Progress | None
    abandoned: Callable[[Outcome], None] | None
    watch: Any
    files: ProgramFiles | None


def trace_command(target: str, spec: str | None, how: Manner) -> Outcome:
    """What `shapewright trace` shows; the parts of a file that only defines things."""
    outcome = _trace_one(target, spec, how)
    if how.watch is not None:
        return outcome
    from shapewright.checking.definitions import with_definitions
    from shapewright.trace.report import Report

    def report_of(name: str, one: Outcome) -> Report:
        made = one.trace
        found = tuple(made.findings)
        return Report(name, found, (), made.complete, made, chosen=one.chosen)

    whole = with_definitions(
        report_of(target, outcome),
        target,
        lambda name, declared: report_of(name, _trace_one(name, None, how, declared)),
    )
    parts = tuple(each.trace for each in whole.parts if each.trace is not None)
    return replace(outcome, parts=parts, skipped=whole.skipped)


def _trace_one(
    target: str,
    spec: str | None,
    how: Manner,
    declared: bool = True,
) -> Outcome:
    """One target traced, as `trace_command` says."""
    from shapewright.inputs.errors import ProgramError
    from shapewright.inputs.pyfile import read_source
    from shapewright.inputs.spec import parse
    from shapewright.inputs.target import parse_target

    parsed = parse_target(target, how.arguments)
    given = parse(spec) if spec is not None else None
    if parsed.kind in ("file", "script"):
        read_source(parsed.place)  # a mistake in it is told before torch is loaded
    from shapewright.engine.failures.run_ends import Stopped
    from shapewright.rehearsing.conducting import trace_script
    from shapewright.runtime.files.program_files import ProgramFiles, noted
    from shapewright.runtime.limits import limited, on_stderr
    from shapewright.runtime.restore.patches import guarded
    from shapewright.runtime.run import Settings, before_any_call
    from shapewright.solving.tracing import run_lettered

    settings = Settings(target=target, progress=how.progress, watch=how.watch)
    with on_stderr() as end:

        def last(stopped: Stopped) -> None:
            end()
            made = (settings.so_far or partial(before_any_call, target))(stopped)
            if how.abandoned is not None:
                how.abandoned(Outcome(made))

        with limited(how.timeout, hard=True, last=last) as limit:
            settings.ended = limit.hold
            try:
                if parsed.kind == "script" and given is None:
                    made = trace_script(
                        target, settings, how.arguments, how.files, limit
                    )
                    return Outcome(made)
                took: list[Fed] = []
                with guarded(), (how.files or ProgramFiles()).kept() as layer:
                    made = run_target(
                        parsed, given, settings, run_lettered, took, declared
                    )
                    chosen = took[0].chosen if took else None
                    return Outcome(noted(with_loops(made, settings), layer), chosen)
            except ProgramError as error:
                return Outcome(unborn(target, error))
            except Stopped as stopped:
                return Outcome(before_any_call(target, stopped))
