"""`shapewright solve`: the sizes that a program accepts, and its outputs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from shapewright.cli import child_process, output, result_files
from shapewright.cli import parser as shared
from shapewright.cli.parser import PROOF_SECONDS, Parser, Unusable, seconds

if TYPE_CHECKING:
    from shapewright.record.solution import Solution

SUMMARY = "which sizes a model accepts, and what it returns"

DESCRIPTION = """\
Run TARGET at many sizes of the letters in its inputs, with tensors that hold no data,
and say which of them it accepts: each demand with the line that makes it, a run that
works and the nearest that does not, and the output as formulas in the letters.

TARGET is what `shapewright trace` takes, except scripts.
"""


def add_arguments(parser: Parser) -> None:
    """Add the arguments of `shapewright solve`."""
    add = parser.add_argument
    shared.add_specs(
        parser,
        'what to feed it, free sizes as letters: "f32[B, 3, H, W]"; more inputs '
        "after a comma, or with -i again",
    )
    add(
        "--want",
        metavar="SPEC",
        help='find sizes that give an output of this shape: "[B, 10, 64, 64]"',
    )
    add(
        "--format",
        choices=shared.list_formats("solution"),
        help="lines, or versioned JSON (default: text, or what the ending of -o says)",
    )
    shared.add_file(parser, "solution")
    add(
        "--prove",
        type=seconds,
        nargs="?",
        const=PROOF_SECONDS,
        metavar="S",
        help="ask torch's symbolic sizes, for S seconds, whether each formula and "
        "demand holds for all sizes (default: 60)",
    )
    shared.add_mode(parser)
    shared.add_display(parser, "no progress line")
    shared.add_timeout(parser, "stop after S seconds")
    shared.add_files(parser)
    shared.add_target(parser)


def run(options: argparse.Namespace) -> int:
    """Solve, print the solution, and return the exit code."""
    target = options.target
    options.format = result_files.choose_format("solution", options)
    file = options.file and options.file.absolute()  # the program may change folder

    def work(parent: child_process.Here[None]) -> int:
        solution = _solve_target(options, parent.folder)
        _print_solution(solution, options, file, parent)
        return solution.exit_code

    def ended(child: child_process.Ended[None]) -> int:
        from shapewright.cli.child_process import build_ended_finding
        from shapewright.record.solution import Solution

        why = build_ended_finding(child, options.timeout).message
        spec = shared.get_spec(options) or ""
        solution = Solution(target, spec, (), (), None, None, 0, False, stopped=why)
        _print_solution(solution, options, file, child_process.Here[None]())
        return solution.exit_code

    def describe(state: None) -> str:
        return f"solving for the sizes of {target}"

    return child_process.run(work, ended, None if options.quiet else describe)


def _print_solution(
    solution: Solution,
    options: argparse.Namespace,
    file: Path | None,
    parent: child_process.Here[None],
) -> None:
    """Print the solution, or write it to the file."""
    text = output.render_result("solution", options.format, solution, options)
    result_files.save_or_show("solution", text, options, file, parent)


def _solve_target(options: argparse.Namespace, folder: str | None) -> Solution:
    """Return the sizes that the target accepts."""
    from shapewright import api
    from shapewright.inputs.errors import InputError

    try:
        return api.solve_target(
            options.target,
            shared.get_spec(options),
            arguments=options.arguments,
            want=options.want,
            training=options.training,
            timeout=options.timeout,
            prove=options.prove,
            files=shared.build_file_handling(options, folder),
        )
    except InputError as error:
        raise Unusable(str(error)) from None
