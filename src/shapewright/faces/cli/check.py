"""`shapewright check`: every shape error of a program, and what is likely wrong."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from shapewright.faces.cli import display, output
from shapewright.faces.cli import options as shared
from shapewright.faces.cli.parser import Unusable

if TYPE_CHECKING:
    from shapewright.trace.report import Report

SUMMARY = "every shape error, where it came from, and a fix that was tried"

NO_FIX = "no fix is known; without --diff what is wrong is shown"

DESCRIPTION = """\
Run TARGET with tensors that hold no data and explain every call that does not fit.

An error does not end the run: it goes on with what would have come out. Fixes are
tried by running the program with the edit in memory. What runs but is likely not meant
is a warning; `# shapewright: ignore[CODE]` at the end of a line switches it off there.
TARGET is what `shapewright trace` takes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `shapewright check` takes."""
    add = parser.add_argument
    shared.add_specs(parser)
    shared.add_report_format(parser, "blocks with source")
    add("--diff", action="store_true", help="show the fixes as a diff, write nothing")
    add(
        "--fix",
        action="store_true",
        help="write the fixes that provably keep the meaning, such as `reshape` for "
        "`view`",
    )
    add(
        "--unsafe-fixes",
        action="store_true",
        help="write also the best fix that makes the program run; with --diff, show it",
    )
    add("--first", action="store_true", help="stop at the first error")
    add(
        "--strict",
        action="store_true",
        help="add a note for every implicit broadcast",
    )
    shared.add_timeout(
        parser, "stop the program after S seconds and tell what was found until then"
    )
    add(
        "targets",
        metavar="TARGET",
        nargs="+",
        help="what to run; options stand before it",
    )


def run(options: argparse.Namespace) -> int:
    """Check the targets, print what was found, return the exit code."""
    from shapewright import api
    from shapewright.checking.writing import chosen, difference
    from shapewright.inputs.errors import InputError

    spec = shared.spec_of(options)
    code = 0
    for target in options.targets:
        try:
            report = api.check_target(
                target,
                spec,
                timeout=options.timeout,
                first=options.first,
                strict=options.strict,
            )
        except InputError as error:
            if len(options.targets) == 1:
                raise Unusable(str(error)) from None
            print(f"error: {error}", file=sys.stderr)
            code = max(code, error.exit_code)
            continue
        if options.diff:
            shown = difference(chosen(report, True))
            output.show(shown)
            if not shown and report.exit_code:
                print(f"{target}: {NO_FIX}", file=sys.stderr)
            elif not shown:
                _tell_beside(report)
        else:
            output.show(rendered(report, options))
            if options.format == "concise":
                _tell_beside(report)
        if (options.fix or options.unsafe_fixes) and not options.diff:
            _written(report, options.unsafe_fixes)
        code = max(code, report.exit_code)
    return code


def _tell_beside(report: Report) -> None:
    """What a format of findings alone does not show, on stderr."""
    if report.chosen is not None and not report.exit_code:
        print(f"{report.target}: no findings {report.chosen}", file=sys.stderr)
    for each in report.skipped:
        print(f"not checked: {each}", file=sys.stderr)


def _written(report: Report, unsafe: bool) -> None:
    """Write the fixes, and say so on stderr."""
    from shapewright.checking.writing import chosen, write

    fixes = chosen(report, unsafe)
    files = write(fixes)
    for file in files:
        count = sum(any(e.span.file == file for e in fix.edits) for fix in fixes)
        print(f"fixed {file}: {count} change{'s' * (count != 1)}", file=sys.stderr)
    if not files:
        more = "" if unsafe else "; --unsafe-fixes writes those that make it run"
        print(f"nothing was fixed{more}", file=sys.stderr)


def rendered(report: Report, options: argparse.Namespace) -> str:
    """The report in the format that was asked for."""
    if options.format == "json":
        from shapewright.views.json import report_json

        return f"{report_json(report)}\n"
    if options.format == "github":
        from shapewright.views.github import report_commands

        return report_commands(report)
    if options.format == "sarif":
        from shapewright import __version__
        from shapewright.views.sarif import report_sarif

        return f"{report_sarif(report, __version__)}\n"
    if options.format == "concise":
        from shapewright.views.concise import report_lines

        return report_lines(report)
    from shapewright.views.terminal.report import text

    seen = display.of(sys.stdout)
    return text(report, seen.width, seen.color, seen.unicode)
