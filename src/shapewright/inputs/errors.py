"""Exceptions for errors before a run begins, and for errors in the user's own code."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any


class InputError(Exception):
    """Raised for a target or spec that cannot be used; one sentence, exit code 2.

    With `text` and `position` (an index into `text`) the message also shows the text
    with a caret below the character::

        unknown dtype `f33`; did you mean `f32`?
          f33[2, 3]
          ^
    """

    exit_code = 2

    def __init__(
        self, message: str, text: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message + _format_pointer(text, position))
        self.message = message
        self.text = text
        self.position = position


def _format_pointer(text: str | None, position: int | None) -> str:
    if text is None or position is None:
        return ""
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].split("\n", 1)[0].replace("\t", " ")
    return f"\n  {line}\n  {' ' * (position - start)}^"


class ProgramError(Exception):
    """Raised if the user's own code fails while it is imported or built; exit code 1.

    `cause` is the exception, `file` and `line` the innermost place in the user's own
    files that it passed through, `message` what it said, `doing` what was going on
    ("importing `model.py`", "building `Net`").
    """

    exit_code = 1

    def __init__(
        self,
        cause: BaseException,
        file: str | None,
        line: int | None,
        message: str,
        doing: str = "",
    ) -> None:
        place = f"{file}:{line}: " if file else ""
        super().__init__(f"{place}{message}" + (f" (while {doing})" if doing else ""))
        self.cause = cause
        self.file = file
        self.line = line
        self.message = message
        self.doing = doing


def suggest_name(name: str, known: Any) -> str:
    """Return `; did you mean `f32`?` for the closest known name, or an empty string.

    >>> suggest_name("f33", ["f32", "i64"])
    '; did you mean `f32`?'
    """
    names = [str(item) for item in known]
    folded = {item.lower(): item for item in reversed(names)}
    close = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean `{folded[close[0]]}`?" if close else ""
