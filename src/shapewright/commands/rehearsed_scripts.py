"""A script and the settings of its runs, which all start from the beginning."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.commands.check import Gone, build_program, plan_continuation
from shapewright.commands.trace import build_cut_notes, with_loops
from shapewright.program.loop_conditions import with_periods_told, with_settings_told
from shapewright.program.loop_instrumentation import with_epochs_told, with_loops_told
from shapewright.record.ops import Assumption

if TYPE_CHECKING:
    from shapewright.analysis.program_run import Program
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.engine.memo import Memo
    from shapewright.inputs.launchers import Launch
    from shapewright.inputs.target import Target
    from shapewright.runtime.absent.settings import StandInSettings
    from shapewright.runtime.files.program_files import ProgramFiles
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
class RehearsedScript:
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
        from shapewright.engine.dispatch.index_bounds import has_index_bounds
        from shapewright.inputs.callables import load_script
        from shapewright.inputs.python_files import change_files
        from shapewright.runtime.files.program_files import add_process_notes
        from shapewright.runtime.loops.turns import (
            is_of_counting_library,
            is_of_training_library,
        )
        from shapewright.runtime.restore.process_state import guard_surroundings
        from shapewright.runtime.run import record_run

        self.memo.forget(has_index_bounds)  # those of a repaired script are others
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
        gone: Gone | None = None,
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
            result = add_loop_notes(result)
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


def add_loop_notes(result: RunResult) -> RunResult:
    """Return the result with notes on its loops over elements and on cut loops."""
    result = with_loops(result)
    story = result.rehearsed.story if result.rehearsed is not None else None
    notes = tuple(Assumption(text) for text in build_cut_notes(story))
    trace = result.trace
    trace = replace(trace, assumptions=(*trace.assumptions, *notes))
    return replace(result, trace=trace)
