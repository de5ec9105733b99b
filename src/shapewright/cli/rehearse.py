"""`shapewright rehearse`: a whole training script, with no GPU and no data."""

from __future__ import annotations

import argparse
import hashlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapewright.cli import output, result_files
from shapewright.cli import parser as shared
from shapewright.cli.parser import Parser, Unusable

if TYPE_CHECKING:
    from shapewright.cli.child_process import Ended, Here
    from shapewright.record.ops import Source
    from shapewright.record.report import Moment, Rehearsal, Report
    from shapewright.runtime.files.program_files import ProgramFiles

    Place = tuple[Rehearsal, str, int]
    """What is known of a rehearsal, with the file and line that it has reached."""

SUMMARY = "a whole training script, from the data set to the last batch"

DESCRIPTION = """\
Run a training script as it is, with tensors that hold no data: its data set, loaders,
loss, optimizer, validation and checkpoints. Each loader gives its first batches
and its last; a training loop ends when further iterations bring nothing new, with its
last iteration. Files that the script writes go to a temporary folder and are removed.
Options stand before SCRIPT.py; what follows it belongs to the script.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright rehearse`."""
    add = parser.add_argument
    add(
        "--device",
        metavar="D",
        help='the device that the script finds: cpu, cuda, mps, "H100 80GB", '
        '"RTX 4090" ... (default: cpu, and then a GPU for a script that asks for one)',
    )
    add("--full-loaders", action="store_true", help="read all the data")
    add(
        "--gradients",
        action="store_true",
        help="show the shape of each gradient beside that of its value",
    )
    add(
        "--memory",
        action=argparse.BooleanOptionalAction,
        help="what the script takes of its device, in a second run (default: for a GPU "
        "that is named)",
    )
    add(
        "--data",
        action="append",
        default=[],
        metavar="PATH=SPEC",
        help="what a file that is not here holds: `train.npy=f32[1000, 64]`, "
        '"imgs=images[500, 3, 480, 640]", "t.csv=table[1000](a: f32, label: i64)", '
        '`vocab.json={"a": 0}`; or the items of a data set class: '
        '"VOCDetection[5000]=f32[3, 300, 300], f32[K, 5]"',
    )
    add(
        "--assume",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help='what a package that is not here gives: "pkg.embed(x) -> f32[B, 64]", '
        '"pkg.CLASSES = 10"',
    )
    add(
        "--strict",
        action="store_true",
        help="let nothing stand for what is not on this machine",
    )
    shared.add_report_format(parser, "the story and blocks with source")
    shared.add_file(parser, "story")
    shared.add_exit_code(parser)
    shared.add_display(parser, "print nothing but findings")
    shared.add_verbose(parser)
    shared.add_files(parser)
    shared.add_timeout(
        parser,
        "stop the script after S seconds and report what was found by then "
        "(default: 300)",
        300.0,
    )
    add(
        "-m",
        dest="module",
        metavar="MODULE",
        nargs=argparse.REMAINDER,
        help="a module, as `python -m` runs it, and its own arguments",
    )
    add(
        "script",
        metavar="SCRIPT.py",
        nargs="?",
        help="the script; or what starts it: `torchrun --nproc_per_node=8 train.py`, "
        "`accelerate launch train.py`, `run.sh`",
    )
    add("arguments", metavar="...", nargs=argparse.REMAINDER, help="its own arguments")
    parser.hint = _hint_at_script


def _hint_at_script(command_line: Sequence[str], index: int) -> str:
    """Return the hint that a script's own options belong after its name, or an empty
    string.
    """
    for at in range(index + 1, len(command_line)):
        if command_line[at].endswith(".py"):
            words = (
                *command_line[:index],
                command_line[at],
                *command_line[index:at],
                *command_line[at + 1 :],
            )
            line = shlex.join(("shapewright", "rehearse", *words))
            return f"; a script's own arguments follow it: `{line}`"
    return ""


def run(options: argparse.Namespace) -> int:
    """Rehearse in a child process, print the report, and return the exit code."""
    from shapewright.cli import child_process

    _name_script(options)
    options.format = result_files.choose_format("story", options)
    file = options.file and options.file.absolute()  # the program may change folder

    def work(parent: child_process.Here[Place]) -> int:
        files = shared.build_file_handling(options, parent.folder)
        report = _rehearse_script(options, lambda *place: parent.tell(place), files)
        report = output.with_severities(report, options)
        _print_report(report, options, file, parent)
        return output.get_exit_code(report, options)

    def ended(child: child_process.Ended[Place]) -> int:
        report = _build_unfinished_report(options, child)
        _print_report(report, options, file, child_process.Here[Any]())
        return output.get_exit_code(report, options)

    def describe(place: Place | None) -> str:
        seen = f", at {place[1]}:{place[2]}" if place is not None else ""
        return f"rehearsing {options.script}{seen}"

    return child_process.run(work, ended, None if options.quiet else describe)


def _name_script(options: argparse.Namespace) -> None:
    """Set the script and its arguments to the words after the options."""
    if options.module is not None:
        options.script, options.arguments = "-m", options.module
    elif options.script is None:
        raise Unusable("no script given; write it after the options, as in `train.py`")


def _rehearse_script(
    options: argparse.Namespace,
    heard: Callable[[Rehearsal, str, int], None],
    files: ProgramFiles,
) -> Report:
    """Return the report of the rehearsal."""
    from shapewright import api
    from shapewright.inputs.errors import InputError

    try:
        return api.rehearse_script(
            options.script,
            options.arguments,
            device=options.device,
            timeout=options.timeout,
            full_loaders=options.full_loaders,
            heard=heard,
            files=files,
            data=options.data,
            assume=options.assume,
            strict=options.strict,
            memory=options.memory,
        )
    except InputError as error:
        raise Unusable(str(error)) from None


def _build_unfinished_report(
    options: argparse.Namespace, child: Ended[Place]
) -> Report:
    """Return the report of a rehearsal whose process was ended by the program."""
    from shapewright.cli.child_process import build_ended_finding, build_trace
    from shapewright.inputs.launchers import is_launch, read_launch
    from shapewright.program.spans import Span
    from shapewright.record.report import Report

    seen, span, rehearsal, sources = "", None, None, {}
    if child.told is not None:
        rehearsal, file, line = child.told
        rehearsal = replace(rehearsal, seconds=child.seconds)
        sources = {
            path: _read_source(path) for path in {file, *_iter_files(rehearsal.story)}
        }
        lines = (sources[file].text or "").splitlines()[line - 1 : line]
        if lines:
            seen = f"; it was last seen at {file}:{line}"
            begin = len(lines[0]) - len(lines[0].lstrip()) + 1
            span = Span(file, line, begin, line, len(lines[0]) + 1)
    finding = build_ended_finding(child, options.timeout, seen, span)
    script, words = options.script, (options.script, *options.arguments)
    if is_launch(words):  # `torchrun --nproc_per_node 8 train.py`
        launch = read_launch(words)
        script = launch.script
        if rehearsal is not None:
            rehearsal = replace(rehearsal, arguments=tuple(launch.arguments))
    trace = build_trace(script, finding, sources)
    return Report(script, (finding,), (), False, trace, rehearsal)


def _iter_files(story: Moment) -> Iterator[str]:
    """Yield the files that a story names."""
    if story.file:
        yield story.file
    for inner in story.inner:
        yield from _iter_files(inner)


def _read_source(file: str) -> Source:
    """Return a source file of the program as it is now."""
    from shapewright.record.ops import Source

    try:
        kept = Path(file).read_bytes()
    except OSError:
        return Source(file, "")
    text = kept.decode("utf-8", "replace")
    return Source(file, hashlib.sha256(kept).hexdigest(), text)


def _print_report(
    report: Report, options: argparse.Namespace, file: Path | None, parent: Here[Any]
) -> None:
    """Print the report in the requested format, or write it to the file."""
    text = output.render_report("story", report, options, gradients=options.gradients)
    options.target = report.target
    result_files.save_or_show("story", text, options, file, parent)
