"""Options that several commands take."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shapewright.faces.cli.parser import Parser, seconds

if TYPE_CHECKING:
    from shapewright.runtime.files.program_files import ProgramFiles

SPECS = (
    'what to feed it: "f32[B=8, 3, 32, 32]"; more inputs after a comma, or with '
    "-i again"
)

TARGET = "what to run; the arguments of a script stand after `--`"

ARGUMENTS = "a script's own arguments stand after `--`"


def add_specs(parser: argparse.ArgumentParser, help: str = SPECS) -> None:
    """`-i SPEC`, as often as there are inputs."""
    parser.add_argument(
        "-i", "--input", dest="specs", action="append", metavar="SPEC", help=help
    )


def spec_of(options: argparse.Namespace) -> str | None:
    """All inputs as one spec, None where none is given."""
    return ", ".join(options.specs) if options.specs else None


def add_report_format(parser: argparse.ArgumentParser, full: str) -> None:
    """`--format` of a report; `full` says what its longest form shows."""
    parser.add_argument(
        "--format",
        choices=("full", "concise", "json", "github", "sarif"),
        default="full",
        help=f"{full}, a line each, versioned JSON, commands for GitHub, or SARIF "
        "(default: full)",
    )


def add_timeout(
    parser: argparse.ArgumentParser, help: str, default: float | None = None
) -> None:
    """`--timeout S`; what happens after it is the command's."""
    parser.add_argument(
        "--timeout", type=seconds, default=default, metavar="S", help=help
    )


def add_files(parser: argparse.ArgumentParser) -> None:
    """`--allow-writes`."""
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        help="let the program write, rename and remove files as in a real run; without "
        "it, all of that goes to a temporary folder",
    )


def files_of(options: argparse.Namespace, folder: str | None) -> ProgramFiles:
    """What becomes of the program's files; `folder` is the only one to write in."""
    from shapewright.runtime.files.program_files import ProgramFiles

    return ProgramFiles(options.allow_writes, folder)


def add_target(parser: Parser, *, several: bool = False) -> None:
    """The target of a command, or several of them."""
    if several:
        parser.add_argument("targets", metavar="TARGET", nargs="+", help=TARGET)
        parser.extra = None
    else:
        parser.add_argument("target", metavar="TARGET", help=TARGET)
        parser.extra = f"stands after the target; {ARGUMENTS}"
    parser.hint = hint_at_dashes


def hint_at_dashes(given: Sequence[str], index: int) -> str:
    """Where an unknown option belongs that may be the script's."""
    script = any(each.partition(":")[0].endswith(".py") for each in given[:index])
    return f"; {ARGUMENTS}" if script else ""
