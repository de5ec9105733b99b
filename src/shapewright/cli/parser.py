"""The command line as data: the parser, options that several commands share, and the
wording of mistakes and help.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from shapewright.views.renderers import ENDINGS, list_renderers

if TYPE_CHECKING:
    from shapewright.runtime.files.program_files import ProgramFiles


PIPE_WIDTH = 88
"""Columns of everything that is not written to a terminal."""

PROOF_SECONDS = 60.0
"""Seconds that `--prove` takes if it is given no number."""

Hint = Callable[[Sequence[str], int], str]
"""Function that explains an unknown option, from all arguments and its index."""

DESCRIPTION = """\
Know every shape of a PyTorch program before you run it. The program runs with tensors
that hold no data, so batch 1024 takes the time and memory of batch 1.
"""

EPILOG = """\
examples:
  shapewright trace -i "f32[B=8, 3, 224, 224]" model.py:Net
  shapewright trace --by line -i "i64[2, 128]" "model.py:GPT(layers=12)"
  shapewright trace -o trace.json model.py:Net

`shapewright help COMMAND` shows the options of a command.
exit codes: 0 clean, 1 findings, 2 the run could not start, 101 a bug of ours
"""


_CHOICE = re.compile(r"(\S+): invalid choice: '(.*)' \(choose from (.*)\)")


class Unusable(Exception):
    """The command line cannot be used; the message is one sentence for the user."""


def _get_no_hint(command_line: Sequence[str], index: int) -> str:
    return ""


class Parser(argparse.ArgumentParser):
    """argparse, with one sentence for a mistake and no abbreviated options.

    `hint` explains an unknown option, `extra` what is wrong with a superfluous word; if
    that is None, such words are further targets.
    """

    hint: Hint = staticmethod(_get_no_hint)
    extra: str | None = "is one argument too many"

    def __init__(self, **settings: object) -> None:
        super().__init__(**{**settings, "add_help": False}, allow_abbrev=False)  # type: ignore[arg-type]
        self.formatter_class = _build_formatter
        self.add_argument("-h", "--help", action="help", help="print this help")

    def error(self, message: str) -> NoReturn:
        """Raise an error instead of printing the usage and exiting."""
        raise Unusable(_format_message(message))

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse as argparse does; report an unknown option by its neighbours."""
        namespace_read, unknown = super().parse_known_args(args, namespace)
        for option in unknown:
            if option.startswith("-"):
                known = list(self._option_string_actions)
                more = _close(option, known, 0.7) or self.hint(args, args.index(option))
                raise Unusable(f"no option `{option}`{more}")
        if unknown and self.extra is not None:
            raise Unusable(f"`{unknown[0]}` {self.extra}")
        if unknown:
            namespace_read.targets += unknown
        return namespace_read, []

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        """Print help to stdout, as a result."""
        (file or sys.stdout).write(self.format_help())


def _format_message(message: str) -> str:
    """Return argparse's message, or our own words where they are clearer."""
    message = message.removeprefix("argument ")
    if message.startswith("the following arguments are required: TARGET"):
        return "no target given; name one, as in `model.py:Net`"
    if message.startswith("the following arguments are required: CALL"):
        return "no call given; write one, as in `f32[3, 1] + f32[4]`"
    if message.startswith("the following arguments are required: SHELL"):
        return "no shell given; there is bash, zsh, fish"
    if message.startswith("the following arguments are required: SCRIPT.py"):
        return "no script given; write it after the options, as in `train.py`"
    choice = _CHOICE.fullmatch(message)
    if choice is None:
        return message
    option, word, listed = choice.groups()
    known = [name.strip("' ") for name in listed.split(",")]
    nouns = {"COMMAND": "command", "SHELL": "completion for"}
    what = nouns.get(option, f"`{option}`")
    rest = _close(word, known) or f"; there is {', '.join(known)}"
    return f"no {what} `{word}`{rest}"


def _close(word: str, known: Sequence[str], least: float = 0.6) -> str:
    """Return `; did you mean `--by`?` for the closest known name, or
    an empty string.
    """
    from difflib import get_close_matches

    close = get_close_matches(word.partition("=")[0], known, n=1, cutoff=least)
    return f"; did you mean `{close[0]}`?" if close else ""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """argparse's formatter, which shows an option's value once, as from
    Python 3.13 on.
    """

    def _format_action_invocation(self, action: argparse.Action) -> str:
        invocation = super()._format_action_invocation(action)
        if not action.option_strings or action.nargs == 0:
            return invocation
        value = invocation.rpartition(action.option_strings[-1])[2]
        return ", ".join(action.option_strings) + value


def _build_formatter(prog: str) -> argparse.HelpFormatter:
    """Return a formatter as wide as the terminal, or of fixed width when piped."""
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return _HelpFormatter(prog, 2, 26, width)


def seconds(text: str) -> float:
    """Return a number of seconds, as `--timeout` accepts it."""
    number = _read_seconds(text)
    if number is None or not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"needs a number of seconds, got `{text}`")
    return number


def _read_seconds(text: str) -> float | None:
    """Return the number in a text, or None if there is none."""
    try:
        return float(text)
    except ValueError:
        return None


ANYWHERE = ("trace", "check", "explain", "solve", "memory")
"""Commands whose options stand anywhere, and a script's own arguments after `--`."""

_CALL = re.compile(r"-(?!-|o|i(?!\d))[^=]*\[", re.DOTALL)
"""A call of `explain` that begins with a minus: `-f32[3]`, but not `-if32[3]`."""


def split_arguments(command_line: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the arguments for argparse, and those of the script after `--`.

    Example: ``trace train.py --by op -- --epochs 3`` gives ``["trace", "train.py",
    "--by", "op"]`` and ``("--epochs", "3")``.
    """
    ours = list(command_line)
    if not ours or ours[0] not in ANYWHERE:
        return ours, ()
    theirs: tuple[str, ...] = ()
    if "--" in ours:
        at = ours.index("--")
        ours, theirs = ours[:at], tuple(ours[at + 1 :])
    if ours[0] == "explain":
        if theirs and _CALL.match(theirs[0]):
            ours, theirs = [*ours, theirs[0]], theirs[1:]
        ours = [f" {word}" if _CALL.match(word) else word for word in ours]
    if ours[0] == "solve":
        ours = _with_proof_time(ours)
    if ours[0] == "memory":
        ours = _with_no_change(ours)
    return ours, theirs


_CHANGES = re.compile(r"(?!-)(?!.*\.(?:py|ipynb)\b)(?:checkpoint:|[^:])+")
"""The changes of `--what-if`, and no option or target: no colon but one of theirs."""


def _with_no_change(ours: Sequence[str]) -> list[str]:
    """Give an empty value to a `--what-if` that no changes follow."""
    following = [*ours[1:], "-"]
    return [
        "--what-if="
        if word == "--what-if" and behind and not _CHANGES.fullmatch(behind)
        else word
        for word, behind in zip(ours, following, strict=True)
    ]


def _with_proof_time(ours: Sequence[str]) -> list[str]:
    """Add the default time to a `--prove` that is not followed by a number."""
    following = [*ours[1:], ""]
    return [
        f"--prove={PROOF_SECONDS:g}"
        if word == "--prove" and _read_seconds(behind) is None
        else word
        for word, behind in zip(ours, following, strict=True)
    ]


SPECS = (
    'what to feed it: "f32[B=8, 3, 32, 32]"; more inputs after a comma, or with '
    "-i again"
)

TARGET = "what to run; a script's own arguments follow `--`"

ARGUMENTS = "a script's own arguments follow `--`"


def add_specs(parser: argparse.ArgumentParser, help: str = SPECS) -> None:
    """Add `-i SPEC`, which may be repeated for several inputs."""
    parser.add_argument(
        "-i", "--input", dest="specs", action="append", metavar="SPEC", help=help
    )


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Add `--train` and `--eval`."""
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--train",
        dest="training",
        action="store_const",
        const=True,
        help="run in training mode, whatever mode the model is in",
    )
    mode.add_argument(
        "--eval",
        dest="training",
        action="store_const",
        const=False,
        help="run in evaluation mode",
    )


def get_spec(options: argparse.Namespace) -> str | None:
    """Return all inputs as one spec, None if none is given."""
    return ", ".join(options.specs) if options.specs else None


def add_report_format(parser: argparse.ArgumentParser, full: str) -> None:
    """Add `--format` of a report; `full` describes its longest form."""
    usual, *others = list_renderers("report")
    *middle, last = [other.help for other in others]
    parser.add_argument(
        "--format",
        choices=list_formats("report"),
        help=f"{', '.join([full, *middle])}, or {last} (default: {usual.option}, or "
        "what the ending of -o says)",
    )


def list_formats(shows: str) -> tuple[str, ...]:
    """Return the values of `--format` for a result: those with words for the help."""
    usual, *others = list_renderers(shows)
    return (usual.option, *(other.option for other in others if other.help))


def add_display(parser: argparse.ArgumentParser, quiet: str) -> None:
    """Add `--color WHEN` and `-q`; `quiet` says what is left out."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="when to use colors (default: auto, at a terminal and not with NO_COLOR)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help=quiet)


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add `--verbose`, for all notes of a finding."""
    parser.add_argument(
        "-v", "--verbose", action="store_true",
        help="all notes below a finding, not the first few",
    )  # fmt: skip


def add_file(parser: argparse.ArgumentParser, shows: str) -> None:
    """Add `-o FILE` of a command whose result has several media."""
    endings = " ".join(list_endings(shows))
    parser.add_argument(
        "-o",
        dest="file",
        type=Path,
        metavar="FILE",
        help=f"write to FILE, in the format of its ending ({endings}); a file that "
        "shapewright did not write is never replaced",
    )


def list_endings(shows: str) -> tuple[str, ...]:
    """Return the endings of files that a result can be written to."""
    endings = (ENDINGS[renderer.medium] for renderer in list_renderers(shows))
    return tuple(dict.fromkeys(endings))


def add_exit_code(parser: argparse.ArgumentParser) -> None:
    """Add `--exit-zero` and `--warnings-as-errors` of a command with findings."""
    parser.add_argument(
        "--exit-zero",
        action="store_true",
        help="exit with 0 in spite of findings (with 2 if the run could not start)",
    )
    parser.add_argument(
        "--warnings-as-errors",
        action="store_true",
        help="report every warning as an error, in all formats",
    )


def add_timeout(
    parser: argparse.ArgumentParser, help: str, default: float | None = None
) -> None:
    """Add `--timeout S`; the command decides what happens after it."""
    parser.add_argument(
        "--timeout", type=seconds, default=default, metavar="S", help=help
    )


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add `--allow-writes`."""
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        help="let the program write, rename and remove files as in a real run; without "
        "it, all of that goes to a temporary folder",
    )


def build_file_handling(
    options: argparse.Namespace, folder: str | None
) -> ProgramFiles:
    """Return the handling of the program's files, which may write in `folder` only."""
    from shapewright.runtime.files.program_files import ProgramFiles

    return ProgramFiles(options.allow_writes, folder)


def add_target(parser: Parser, several_help: str = "") -> None:
    """Add the target of a command, or any number of them, with the help for those."""
    if several_help:
        parser.add_argument("targets", metavar="TARGET", nargs="*", help=several_help)
        parser.extra = None
    else:
        parser.add_argument("target", metavar="TARGET", help=TARGET)
        parser.extra = f"comes after the target; {ARGUMENTS}"
    parser.hint = hint_at_dashes


def hint_at_dashes(command_line: Sequence[str], index: int) -> str:
    """Return a hint on where an unknown option belongs that may be the script's, or an
    empty string.
    """
    script = any(
        word.partition(":")[0].endswith(".py") for word in command_line[:index]
    )
    return f"; {ARGUMENTS}" if script else ""
