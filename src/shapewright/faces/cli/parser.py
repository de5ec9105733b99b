"""The command line as data: how it is read, and how its mistakes and help sound."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import IO, NoReturn

PIPE_WIDTH = 88
"""Columns of everything that is not written to a terminal."""

DESCRIPTION = """\
Know every shape of a PyTorch program before you run it. The program runs with tensors
that hold no data, so batch 1024 takes the time and memory of batch 1.
"""

EPILOG = """\
examples:
  shapewright trace -i "f32[B=8, 3, 224, 224]" model.py:Net
  shapewright trace --by line -i "i64[2, 128]" "model.py:GPT(layers=12)"
  shapewright trace --format json -o trace.json model.py:Net

exit codes: 0 clean, 1 findings, 2 the run could not start, 101 a bug of ours
"""


_CHOICE = re.compile(r"(\S+): invalid choice: '(.*)' \(choose from (.*)\)")


class Unusable(Exception):
    """The command line cannot be used; the message is one sentence for the user."""


class Parser(argparse.ArgumentParser):
    """argparse, with one sentence for a mistake and no abbreviated options."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**{**settings, "add_help": False}, allow_abbrev=False)  # type: ignore[arg-type]
        self.formatter_class = formatter
        self.add_argument("-h", "--help", action="help", help="print this help")

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        raise Unusable(_sentence(message))

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """argparse's, but an unknown option is met where its neighbours are known."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = list(self._option_string_actions)
            raise Unusable(f"no option `{unknown[0]}`{_close(unknown[0], known)}")
        return found, unknown

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        """Help is a result, and goes where results go."""
        (file or sys.stdout).write(self.format_help())


def _sentence(message: str) -> str:
    """argparse's message, in our words where they say more."""
    message = message.removeprefix("argument ")
    if message.startswith("the following arguments are required: TARGET"):
        return "no target given; write it after the options, as in `model.py:Net`"
    if message.startswith("the following arguments are required: SCRIPT.py"):
        return "no script given; write it after the options, as in `train.py`"
    choice = _CHOICE.fullmatch(message)
    if choice is None:
        return message
    option, given, listed = choice.groups()
    known = [name.strip("' ") for name in listed.split(",")]
    what = "command" if option == "COMMAND" else f"`{option}`"
    rest = _close(given, known) or f"; there is {', '.join(known)}"
    return f"no {what} `{given}`{rest}"


def _close(given: str, known: Sequence[str]) -> str:
    """`; did you mean `--by`?` for the closest known name, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(given.partition("=")[0], known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def formatter(prog: str) -> argparse.HelpFormatter:
    """Help as wide as the terminal, and always the same when piped."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return argparse.RawDescriptionHelpFormatter(prog, 2, 26, width)


def seconds(text: str) -> float:
    """A number of seconds, as `--timeout` takes it."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"needs a number of seconds, got `{text}`")
    return found
