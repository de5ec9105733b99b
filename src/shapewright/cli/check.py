"""`shapewright check`: every shape error of a program, and what is likely wrong."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.cli import child_process, output, result_files
from shapewright.cli import parser as shared
from shapewright.cli.parser import Parser, Unusable

if TYPE_CHECKING:
    from shapewright.inputs.configuration import ProjectTarget
    from shapewright.record.report import Report

_State = tuple[int, tuple[str, ...]]
"""The number of the target that is checked, and the reports for the file so far."""

SUMMARY = "every shape error, where it came from, and a fix that was tried"

NO_FIX = "no fix is known; run without --diff to see what is wrong"

DESCRIPTION = """\
Run TARGET with tensors that hold no data and explain every call that does not fit.

An error does not end the run, which continues with the tensor that the call would have
returned. Fixes are tried by running the program with the edit in memory. What runs but
is probably not intended is a warning; `# shapewright: ignore[CODE]` at the end of a
line switches it off there.
TARGET is what `shapewright trace` takes. A folder stands for each of its files that
define a model. Without a target, those listed in pyproject.toml are checked:

  [tool.shapewright]
  targets = [
      "models/unet.py:UNet",
      { target = "text.py:TextNet", input = "i64[2, 16]" },
  ]
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright check`."""
    add = parser.add_argument
    shared.add_specs(parser)
    shared.add_mode(parser)
    shared.add_report_format(parser, "blocks with source")
    shared.add_file(parser, "report")
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
        help="also write the best fix that makes the program run; with --diff, show it",
    )
    add("--first", action="store_true", help="stop at the first error")
    add(
        "--strict",
        action="store_true",
        help="add a note for every implicit broadcast",
    )
    shared.add_exit_code(parser)
    shared.add_display(parser, "print nothing but findings")
    shared.add_verbose(parser)
    shared.add_timeout(
        parser, "stop the program after S seconds and report what was found by then"
    )
    shared.add_files(parser)
    shared.add_target(parser, f"{shared.TARGET}; without one, those of pyproject.toml")


def run(options: argparse.Namespace) -> int:
    """Check the targets, print the findings, and return the exit code."""
    from shapewright.inputs.errors import InputError

    if options.diff and options.file:
        raise Unusable("`--diff` is printed, and -o writes the report; choose one")
    options.format = result_files.choose_format("report", options)
    file = options.file and options.file.absolute()  # the program may change folder
    code, left = 0, _list_jobs(options)
    all_jobs = len(left)
    alone = all_jobs == 1
    written: list[str] = []  # the reports for the file

    def work(parent: child_process.Here[_State]) -> int:
        worst = 0
        for at, job in enumerate(left):
            parent.tell((at, tuple(written)))
            try:
                worst = max(worst, _check_target(job, options, parent, written))
            except InputError as error:
                if alone:
                    raise Unusable(str(error)) from None
                print(f"error: {error}", file=sys.stderr)
                worst = max(worst, error.exit_code)
        _save_reports(file, written, options, parent)
        return worst

    def ended(child: child_process.Ended[_State]) -> int:
        at, before = child.told or (0, tuple(written))
        report = _report_of_ended(left[at].target, child, options)
        left[: at + 1] = []
        written[:] = before
        parent = child_process.Here[_State]()
        _print_report(report, options, parent, written)
        if not left:
            _save_reports(file, written, options, parent)
        return max(code, output.get_exit_code(report, options))

    def describe(state: _State | None) -> str:
        at = state[0] if state is not None else 0
        place = "" if alone else f" ({all_jobs - len(left) + at + 1} of {all_jobs})"
        return f"checking {left[at].target}{place}"

    before = len(left) + 1
    while left and len(left) < before:  # what follows a target that ended its process
        before = len(left)
        shown = None if options.quiet else describe
        code = max(code, child_process.run(work, ended, shown))
    return code


def _list_jobs(options: argparse.Namespace) -> list[ProjectTarget]:
    """Return what is checked: the targets, with folders as their files, or else those
    of the project.
    """
    from shapewright.inputs.configuration import ProjectTarget, read_targets
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.folders import find_models
    from shapewright.inputs.target import parse_target

    spec, jobs = shared.get_spec(options), []
    try:
        if not options.targets and spec is not None:
            raise Unusable("no target given; -i is for one, as in `model.py:Net`")
        listed = [ProjectTarget(target, spec) for target in options.targets]
        for job in listed or read_targets():
            if (
                not Path(job.target).is_dir()
                or parse_target(job.target).kind != "folder"
            ):
                jobs.append(job)
                continue
            if job.spec is not None:
                raise Unusable(
                    f"-i is for one model, and `{job.target}` is a folder; name a model"
                )
            files, skipped = find_models(job.target)
            jobs += [ProjectTarget(file) for file in files]
            for file in skipped:
                print(f"not checked: {file}", file=sys.stderr)
    except InputError as error:
        raise Unusable(str(error)) from None
    if not jobs:
        raise Unusable(
            "no target given; name one, as in `model.py:Net`, or list `targets` in"
            " `[tool.shapewright]` of pyproject.toml"
        )
    return jobs


def _save_reports(
    file: Path | None,
    written: Sequence[str],
    options: argparse.Namespace,
    parent: child_process.Here[_State],
) -> None:
    """Write the file of `-o`, with the reports of all targets."""
    if file is None:
        return
    text = result_files.join_results(options.format, written)
    title = ", ".join(options.targets) or "shapewright check"
    parent.save(file, result_files.mark_result("report", options.format, text, title))
    count = f"{len(written)} report{'s' * (len(written) != 1)}"
    result_files.print_written(options, count)


def _check_target(
    job: ProjectTarget,
    options: argparse.Namespace,
    parent: child_process.Here[_State],
    written: list[str],
) -> int:
    """Check a target, and have its report printed or kept, and its fixes written."""
    from shapewright import api

    report = api.check_target(
        job.target,
        job.spec,
        arguments=options.arguments,
        training=options.training,
        timeout=options.timeout,
        first=options.first,
        strict=options.strict,
        files=shared.build_file_handling(options, parent.folder),
    )
    report = output.with_severities(report, options)
    _print_report(report, options, parent, written)
    if (options.fix or options.unsafe_fixes) and not options.diff:
        _write_fixes(report, options, parent)
    return output.get_exit_code(report, options)


def _print_report(
    report: Report,
    options: argparse.Namespace,
    parent: child_process.Here[_State],
    written: list[str],
) -> None:
    """Print the report, or the diff of its fixes; keep it in `written` for a file."""
    from shapewright.commands.check.fixes import choose_fixes, format_diff

    if options.file is not None:
        written.append(output.render_report("report", report, options))
    elif not options.diff:
        parent.show(output.render_report("report", report, options))
        if options.format == "concise" and not options.quiet:
            _tell_beside(report)
    else:
        text = format_diff(choose_fixes(report, True))
        parent.show(text)
        if not text and report.exit_code:
            print(f"{report.target}: {NO_FIX}", file=sys.stderr)
        elif not text and not options.quiet:
            _tell_beside(report)


def _tell_beside(report: Report) -> None:
    """Print on stderr what a format that lists only findings does not show."""
    if report.chosen is not None and not report.exit_code:
        print(f"{report.target}: no findings {report.chosen}", file=sys.stderr)
    for definition in report.skipped:
        print(f"not checked: {definition}", file=sys.stderr)


def _report_of_ended(
    target: str, child: child_process.Ended[_State], options: argparse.Namespace
) -> Report:
    """Return the report of a check whose process was ended by the program."""
    from shapewright.cli.child_process import build_ended_trace
    from shapewright.record.report import Report

    trace = build_ended_trace(target, child, options.timeout)
    return Report(target, tuple(trace.findings), (), False, trace)


def _write_fixes(
    report: Report, options: argparse.Namespace, parent: child_process.Here[_State]
) -> None:
    """Have the fixes written, and list them on stderr."""
    from shapewright.commands.check.fixes import apply_fixes, choose_fixes
    from shapewright.program.notebooks import is_notebook

    unsafe = options.unsafe_fixes
    fixes = choose_fixes(report, unsafe)
    texts = {file: new for file, (old, new) in apply_fixes(fixes).items() if old != new}
    notebooks = [file for file in sorted(texts) if is_notebook(file)]
    for file in notebooks:
        print(f"{file} is a notebook, which is not written to", file=sys.stderr)
        texts.pop(file)
    for file, text in sorted(texts.items()):
        parent.replace(os.path.abspath(file), text)
        count = sum(any(e.span.file == file for e in fix.edits) for fix in fixes)
        if not options.quiet:
            print(f"fixed {file}: {count} change{'s' * (count != 1)}", file=sys.stderr)
    if not texts and not notebooks and not options.quiet:
        more = "" if unsafe else "; --unsafe-fixes writes those that make it run"
        print(f"nothing was fixed{more}", file=sys.stderr)
