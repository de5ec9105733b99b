"""Options that several commands take."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from shapewright.faces.cli.parser import Unusable, seconds

if TYPE_CHECKING:
    from shapewright.capture.files.program_files import ProgramFiles

SPECS = (
    'what to feed it: "f32[B=8, 3, 32, 32]"; more inputs after a comma, or with '
    "-i again"
)


def add_specs(parser: argparse.ArgumentParser, help: str = SPECS) -> None:
    """`-i SPEC`, as often as there are inputs."""
    parser.add_argument("-i", dest="specs", action="append", metavar="SPEC", help=help)


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
    from shapewright.capture.files.program_files import ProgramFiles

    return ProgramFiles(options.allow_writes, folder)


def add_target(parser: argparse.ArgumentParser) -> None:
    """The one target of a command, with nothing behind it."""
    parser.add_argument(
        "target", metavar="TARGET", help="what to run; options stand before it"
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def target_of(options: argparse.Namespace) -> str:
    """The target; raises `Unusable` where anything stands behind it."""
    if options.rest:
        raise Unusable(
            f"`{options.rest[0]}` stands after the target; options stand before it"
        )
    target: str = options.target
    return target
