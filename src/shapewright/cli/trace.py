"""`shapewright trace`: the shape of every tensor in a program."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.cli import child_process, result_files
from shapewright.cli import output as display
from shapewright.cli import parser as shared
from shapewright.cli.parser import Parser, Unusable
from shapewright.views.renderers import Display, render

if TYPE_CHECKING:
    from shapewright.commands.targets import Outcome
SUMMARY = "the shape of every tensor"

DESCRIPTION = """\
Run TARGET with tensors that hold no data and show the shape of every tensor in it.

TARGET is what to run:
  model.py:Net            a class, an instance or a function in a file
  "model.py:Net(10)"      with arguments
  package.models:build    the same in a module
  script.py               a script, run as __main__; its own arguments after `--`
  model.ipynb:Net         the same in the cells of a notebook
  folder                  every model in the files of a folder
  hf:config.json          a transformers config, or the name of a config class
  timm:resnet50           a model of timm; torchvision:resnet18 one of torchvision
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright trace`."""
    add = parser.add_argument
    shared.add_specs(parser)
    shared.add_mode(parser)
    add(
        "--by",
        choices=("module", "op", "line"),
        default="module",
        help="what a row is: a module, a tensor call or a source line "
        "(default: module)",
    )
    add(
        "--depth",
        type=_parse_depth,
        metavar="N",
        help="show modules down to N levels, or `all` (default: as many "
        "levels as fit a screen)",
    )
    add(
        "--sort",
        metavar="KEY",
        default="",
        help="the innermost modules by params, flops or allocated, ops by flops, read "
        "or written; the largest first",
    )
    add(
        "--columns",
        metavar="A,B,C",
        default="",
        help="the columns to show, as `module,output,params`",
    )
    add(
        "--format",
        choices=shared.list_formats("trace"),
        help="a table, the versioned record, rows as JSON lines or as CSV, or a "
        "Markdown table (default: text, or what the ending of -o says)",
    )
    shared.add_file(parser, "trace")
    shared.add_display(parser, "no progress line, and no word on what was written")
    shared.add_timeout(
        parser, "stop the program after S seconds and show what ran until then"
    )
    shared.add_files(parser)
    shared.add_target(parser)


def _parse_depth(text: str) -> int:
    """Return the number of levels; `all` is more than any model has."""
    if text == "all":
        return ALL_LEVELS
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"needs a number of levels or `all`, got `{text}`"
        )
    return int(text)


ALL_LEVELS = 1_000_000


def _read_table_options(options: argparse.Namespace) -> tuple[str, tuple[str, ...]]:
    """Return the key to sort by and the columns, or refuse those that there are not."""
    from shapewright.views.terminal import TableOptions, check_table_options

    sort = options.sort.lower()
    columns = tuple(
        name.strip().lower() for name in options.columns.split(",") if name.strip()
    )
    try:
        check_table_options(options.by, TableOptions(options.depth, sort, columns))
    except ValueError as error:
        raise Unusable(str(error)) from None
    return sort, columns


def run(options: argparse.Namespace) -> int:
    """Trace the target, print or save the result, and return the exit code."""
    options.sort, options.columns = _read_table_options(options)
    options.format = result_files.choose_format("trace", options)
    if options.by == "line" and options.format in ("csv", "jsonl", "markdown"):
        raise Unusable(
            f"{options.format} has a row for each module or op; write `--by op`, or "
            "leave out `--by line`"
        )
    file = options.file and options.file.absolute()  # the program may change folder

    def told(outcome: Outcome, parent: child_process.Here[str]) -> None:
        if file is None:
            seen = display.get_display(sys.stdout, options.color)
            parent.show(_render_outcome(outcome, options, seen))
        else:
            _save_outcome(outcome, options, file, parent)
        _print_check_command(outcome, options, parent)

    def work(parent: child_process.Here[str]) -> int:
        def abandoned(outcome: Outcome) -> None:
            told(outcome, parent)
            parent.done(1)

        outcome = _get_outcome(options, abandoned, parent)
        told(outcome, parent)
        return outcome.exit_code

    def ended(child: child_process.Ended[str]) -> int:
        from shapewright.cli.child_process import build_ended_trace
        from shapewright.commands.targets import Outcome

        outcome = Outcome(build_ended_trace(options.target, child, options.timeout))
        told(outcome, child_process.Here[str]())
        return outcome.exit_code

    def describe(module: str | None) -> str:
        return f"tracing {options.target}{f', in {module}' if module else ''}"

    return child_process.run(work, ended, None if options.quiet else describe)


def _print_check_command(
    outcome: Outcome, options: argparse.Namespace, parent: child_process.Here[str]
) -> None:
    """Say on stderr which command explains an error of torch, and which input fits."""
    from shapewright.analysis.input_dtypes import suggest_spec
    from shapewright.findings.codes import TORCH_ERROR

    traces = outcome.parts or (outcome.trace,)
    is_torch_error = any(
        finding.code == TORCH_ERROR for trace in traces for finding in trace.findings
    )
    if not is_torch_error or options.quiet:
        return
    specs = [word for spec in options.specs or () for word in ("-i", spec)]
    rest = ["--", *options.arguments] if options.arguments else []
    line = shlex.join(["shapewright", "check", *specs, options.target, *rest])
    fitting = suggest_spec(outcome.trace, shared.get_spec(options) or "")
    if fitting:
        name = outcome.trace.ops[-1].name
        parent.warn(f'`{name}` takes another dtype of an input: `-i "{fitting}"`\n')
    parent.warn(f"`{line}` explains the error and tries fixes\n")


def _get_outcome(
    options: argparse.Namespace,
    abandoned: Callable[[Outcome], None],
    parent: child_process.Here[str],
) -> Outcome:
    from shapewright import api
    from shapewright.inputs.errors import InputError

    try:
        return api.trace_target(
            options.target,
            shared.get_spec(options),
            arguments=options.arguments,
            training=options.training,
            timeout=options.timeout,
            progress=child_process.build_progress(parent, options.quiet),
            abandoned=abandoned,
            files=shared.build_file_handling(options, parent.folder),
        )
    except InputError as error:
        raise Unusable(str(error)) from None


def _render_outcome(
    outcome: Outcome, options: argparse.Namespace, display: Display
) -> str:
    option = options.format
    display = replace(
        display,
        by=options.by,
        depth=options.depth,
        sort=options.sort,
        columns=options.columns,
    )
    if outcome.parts:
        text: str = render("traces", option, outcome, display)
    else:
        text = render("trace", option, outcome.trace, display)
    return text


def _save_outcome(
    outcome: Outcome,
    options: argparse.Namespace,
    file: Path,
    parent: child_process.Here[str],
) -> None:
    """Save the result in a file; print what must not be missed on stderr."""
    rendered = _render_outcome(outcome, options, Display())
    trace = outcome.trace
    content = result_files.mark_result("trace", options.format, rendered, trace.target)
    parent.save(file, content)
    traces = outcome.parts or (trace,)
    for finding in (
        finding for part_trace in traces for finding in part_trace.findings
    ):
        place = f"{finding.span}: " if finding.span else ""
        print(
            f"{place}{finding.severity}[{finding.code}]: {finding.message}",
            file=sys.stderr,
        )
    for skipped in outcome.skipped:
        print(f"not traced: {skipped}", file=sys.stderr)
    whole = all(part.complete for part in traces)
    partial = "" if whole else ", as far as the program got"
    count = sum(len(part.ops) for part in traces)
    result_files.print_written(options, f"{count} ops{partial}")
