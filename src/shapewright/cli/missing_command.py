"""Which command is meant by a command line that names none."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

_SCRIPT = re.compile(r"[^\s:\[\]()]+\.(py|ipynb|sh)")
_TARGET = re.compile(r"[^\s\[\]]+\.(py|ipynb):\S.*|[\w.]+:[A-Za-z_.]\S*", re.DOTALL)
_WORD = re.compile(r"[a-z]+")
_CALL = re.compile(r"\w*\[[^\]]*\]|\w[\w.]*\(.*\)", re.DOTALL)


def describe_missing_command(
    command_line: Sequence[str], commands: Collection[str]
) -> str:
    """Return the sentence for a target or a call without a command, or an empty string.

    Example: for ``["model.py:Net"]`` it shows `shapewright trace model.py:Net` and
    `shapewright check model.py:Net`.
    """
    if any(word in commands for word in command_line):
        return ""
    if command_line and _WORD.fullmatch(command_line[0]):
        return ""  # a command that is not spelt so
    line = shlex.join(command_line)
    if any(_SCRIPT.fullmatch(word) for word in command_line):
        return _format_choice(line, "rehearse", "runs it without data", "its shapes")
    if any(_TARGET.fullmatch(word) for word in command_line):
        return _format_choice(line, "check", "shows its errors", "its shapes")
    if command_line and _CALL.search(command_line[0]):
        return f"no command given; `shapewright explain {line}` draws it"
    return ""


def _format_choice(line: str, other: str, does: str, shows: str) -> str:
    return (
        f"no command given; `shapewright trace {line}` shows {shows},"
        f" `shapewright {other} {line}` {does}"
    )
