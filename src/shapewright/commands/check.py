"""`check` of a command-line target: one model, a script, or all that a file defines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shapewright.checking import conducting
from shapewright.checking.definitions import refuse_empty, with_definitions
from shapewright.inputs.target import parse_target
from shapewright.rehearsing.conducting import check_script

if TYPE_CHECKING:
    from shapewright.runtime.files.program_files import ProgramFiles
    from shapewright.trace.report import Report


def check_command(
    target: str,
    spec: str | None,
    arguments: Sequence[str],
    timeout: float | None,
    first: bool,
    strict: bool,
    files: ProgramFiles | None,
) -> Report:
    """What `shapewright check` finds; the parts of a file that only defines things."""

    def check_one(name: str, given: str | None, declared: bool) -> Report:
        return conducting.check_command(
            name, given, timeout, first, strict, arguments, files, declared
        )

    if spec is None and parse_target(target, arguments).kind == "script":
        report = check_script(target, arguments, timeout, first, strict, files)
    else:
        report = check_one(target, spec, True)
    report = with_definitions(
        report, target, lambda name, declared: check_one(name, None, declared), first
    )
    refuse_empty(report, target)
    return report
