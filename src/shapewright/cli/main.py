"""`shapewright`: read the command line, run one command, choose the exit code."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from shapewright.cli import (
    check,
    completion,
    explain,
    memory,
    output,
    rehearse,
    solve,
    trace,
)
from shapewright.cli.missing_command import describe_missing_command
from shapewright.cli.parser import (
    ANYWHERE,
    DESCRIPTION,
    EPILOG,
    Parser,
    Unusable,
    split_arguments,
)

COMMANDS = {
    "trace": trace,
    "check": check,
    "explain": explain,
    "solve": solve,
    "rehearse": rehearse,
    "memory": memory,
    "completion": completion,
}
"""All commands, by name: modules with `SUMMARY`, `add_arguments` and `run`."""

INTERRUPTED = 130
OUR_BUG = 101
UNUSABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `shapewright ARGUMENTS` and return its exit code.

    Example: ``main(["trace", "-i", "f32[B=8, 3, 32, 32]", "model.py:Net"])`` prints the
    table and returns 0, or 1 with findings, 2 when the run could not start.
    """
    command_line = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(command_line)
    except Unusable as error:
        print(f"error: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:  # a bug of ours is reported as one
        _tell(error, command_line)
        return OUR_BUG


def command() -> int:
    """Run `main` as a whole process, with less garbage collection.

    Importing torch makes some 160,000 objects that stay. With Python's thresholds the
    collector visits them again and again, and once more at exit: together a third of
    the time of `import torch`.
    """
    gc.set_threshold(50_000)
    try:
        code = main()
    finally:
        gc.freeze()
    output.leave(code)
    return code


def _run(command_line: list[str]) -> int:
    if command_line[:1] == ["help"]:  # `help trace` is `trace --help`
        command_line = [*command_line[1:2], "--help"]
    missing = describe_missing_command(command_line, COMMANDS)
    if missing:
        raise Unusable(missing)
    ours, theirs = split_arguments(command_line or ["--help"])
    try:
        parser = _build_parser()
        options = parser.parse_args(ours)
    except SystemExit:  # argparse's --help has printed
        return 0
    if options.version:
        output.show(f"{version()}\n")
        return 0
    if options.command is None:
        raise Unusable("no command given; `shapewright help` lists them")
    if options.command in ANYWHERE:
        options.arguments = theirs
    options.parser = parser
    code: int = COMMANDS[options.command].run(options)
    return code


def _build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="shapewright", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument(
        "-V",
        "--version",
        action="store_true",
        help="print our version, torch's and Python's",
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", parser_class=Parser
    )
    for name, command in COMMANDS.items():
        command.add_arguments(
            commands.add_parser(
                name, help=command.SUMMARY, description=command.DESCRIPTION
            )
        )
    return parser


def version() -> str:
    """Return all relevant versions:
    `shapewright 0.1.0, torch 2.13.0, Python 3.11.7`.
    """
    import platform

    names = (
        f"{name} {_get_installed_version(name)}" for name in ("shapewright", "torch")
    )
    return f"{', '.join(names)}, Python {platform.python_version()}"


def _get_installed_version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(name)
    except PackageNotFoundError:
        return "(not installed)"


def _report(error: BaseException, command: Sequence[str]) -> str:
    """Return the text of a bug report: the command, versions and the traceback.

    The versions are found without importing torch.
    """
    import platform
    import shlex
    import traceback

    trail = "".join(traceback.format_exception(error))
    return (
        "error: shapewright itself failed; this is a bug of ours, not of your program\n"
        "\n"
        "Please send what follows with the smallest program that shows it.\n"
        f"  command:  shapewright {shlex.join(command)}\n"
        f"  versions: {version()} on {platform.platform()}\n"
        "\n"
        f"{trail}"
    )


def _tell(error: BaseException, command: Sequence[str]) -> None:
    """Print the bug report on stderr."""
    sys.stderr.write(_report(error, command))
