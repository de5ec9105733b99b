"""A script, run as a rehearsal runs it: its loops told of, its files in a layer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.commands.check import Place, program_of, until
from shapewright.commands.trace import with_loops
from shapewright.program.loop_conditions import with_periods_told, with_settings_told
from shapewright.program.loop_instrumentation import with_epochs_told, with_loops_told
from shapewright.record.ops import Assumption

if TYPE_CHECKING:
    from shapewright.analysis.program_run import Program
    from shapewright.engine.failures.constructions import Constructions
    from shapewright.engine.memo import Memo
    from shapewright.inputs.target import Target
    from shapewright.record.report import Moment, Rehearsal
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.runtime.run import RunRequest, RunResult
    from shapewright.runtime.training.rehearsal import Heard, Rehearsing


def new_memo() -> Memo:
    """What torch answers, which all runs of a command share."""
    from shapewright.engine.memo import Memo

    return Memo()


@dataclass(frozen=True, slots=True)
class Script:
    """A script and how it is run, each time from the beginning.

    Without a `device` it is the machine's own. `full` reads all the data.
    """

    target: Target
    arguments: Sequence[str] = ()
    device: str | None = None
    full: bool = False
    files: ProgramFiles | None = None
    memo: Memo = field(default_factory=new_memo)

    def rehearsing(
        self, hurried: bool = False, heard: Heard | None = None, whole: bool = False
    ) -> Rehearsing:
        """What is watched in one run."""
        from shapewright.runtime.training.rehearsal import Rehearsing

        return Rehearsing(
            self.holds, self.device, self.full, tuple(self.arguments), hurried,
            heard, self.files, whole,
        )  # fmt: skip

    def holds(self, file: str) -> bool:
        """Whether a file belongs to the program."""
        from shapewright.inputs.python_files import Program as Files

        return Files(Path(os.path.abspath(self.target.place)).parent).holds(file)

    def owns(self, file: str) -> bool:
        """Whether a file belongs to the program, or to a package of the user's."""
        from shapewright.runtime.loops.turns import is_own_package

        return self.holds(file) or is_own_package(file)

    def run(
        self, rehearsing: Rehearsing, request: RunRequest, seen: Constructions
    ) -> RunResult:
        """What one run showed; `seen` takes note of what the program builds."""
        from shapewright.inputs.callables import load_script
        from shapewright.inputs.python_files import changing
        from shapewright.runtime.files.program_files import noted
        from shapewright.runtime.loops.turns import (
            of_counting_library,
            of_training_library,
        )
        from shapewright.runtime.restore.process_state import guarded
        from shapewright.runtime.run import record

        request = replace(request, memo=self.memo, companion=rehearsing)
        with (
            guarded(),
            seen.watched(),
            changing(self.owns, with_loops_told),
            changing(self.owns, with_periods_told),
            changing(of_training_library, with_epochs_told),
            changing(of_counting_library, with_settings_told),
        ):
            loaded = load_script(self.target, self.arguments)
            made = record(to_its_end(loaded.callable), (), {}, request)
            if rehearsing.layer is not None:
                made = replace(made, trace=noted(made.trace, rehearsing.layer))
        return made

    def program(
        self,
        rehearsing: Rehearsing,
        request: RunRequest,
        gone: Place | None = None,
        alone: bool = False,
    ) -> Program:
        """One run, and what is reasoned about; a try of a fix ends at `gone`.

        Where no story stands beside it (`alone`), it says itself which loops were cut.
        """
        from shapewright.engine.failures.constructions import Constructions

        options = replace(request.options, going_on=until(gone))
        seen = Constructions()
        made = self.run(rehearsing, replace(request, options=options), seen)
        if alone:
            made = told_alone(made, rehearsing)
        return program_of(made, seen)


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


def told_alone(made: RunResult, rehearsing: Rehearsing) -> RunResult:
    """The result with its loops over elements noted, and what was cut."""
    made = with_loops(made)
    told = tuple(Assumption(text) for text in shortened(rehearsing.told))
    trace = made.trace
    trace = replace(trace, assumptions=(*trace.assumptions, *told))
    return replace(made, trace=trace)


def shortened(told: Rehearsal | None) -> tuple[str, ...]:
    """What a command that shows no story says of a run whose loops were cut."""
    if told is None:
        return ()
    loops = list(cut_loops(told.story))
    places = tuple(  # each is said once
        f"{each.removeprefix('the loop at ').rpartition(' had ')[0]}: "
        for each in loops
    )
    cut = [*loops, *(each for each in told.skipped if not each.startswith(places))]
    if not cut:
        return ()
    more = f", and {len(cut) - 1} more were cut" if len(cut) > 1 else ""
    return (f"run as `shapewright rehearse` runs it, which shows more: {cut[0]}{more}",)


def cut_loops(moment: Moment) -> Iterator[str]:
    """A sentence on each loop of a story that went on at a later turn."""
    turns = moment.turns
    if turns and turns != tuple(range(1, len(turns) + 1)):
        of = "" if moment.total is None else f" of {moment.total:,}"
        yield f"the loop at {moment.file}:{moment.line} had {len(turns)} turns{of}"
    for inner in moment.inner:
        yield from cut_loops(inner)
