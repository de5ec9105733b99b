"""Colours in a drawing that is text: what a tensor does here is the colour of its name.

Colour never says anything alone: brackets mark the elements, carets the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from shapewright.views.terminal.paint import CODES, cells

Kinds = Mapping[str, str]
"""The style of each tensor's name: `read`, `where` it decides where to read, `out`."""

_SGR = re.compile(r"\x1b\[[0-9;]*m")


def seen(text: str) -> int:
    """The columns that a text takes in a terminal: its colours take none."""
    return cells(_SGR.sub("", text) if "\x1b" in text else text)


def filled(text: str, width: int) -> str:
    """The text with blanks up to `width` columns."""
    return text + " " * (width - seen(text))


def ink(text: str, style: str, colour: bool) -> str:
    """The text in a style of the terminal's palette, or as it is."""
    if not colour or not text.strip():
        return text
    bare = text.strip()
    before, _, after = text.partition(bare)
    return f"{before}\x1b[{CODES[style]}m{bare}\x1b[0m{after}"


def named(line: str, every: Kinds, colour: bool) -> str:
    """A line of words or of code with the tensors' names in their colours.

    A name counts where nothing else can be meant: before its index, in backticks, or
    where the line begins by setting it.
    """
    if not colour or not every:
        return line
    names = "|".join(sorted(map(re.escape, every), key=len, reverse=True))
    places = re.compile(
        rf"(?<![\w.])({names})(?=\[)|`({names})`|^(\s*)({names})(?= .?=)"
    )

    def painted(match: re.Match[str]) -> str:
        before, quoted, blanks, first = match.groups()
        if quoted:
            return f"`{ink(quoted, every[quoted], True)}`"
        name = before or first
        return f"{blanks or ''}{ink(name, every[name], True)}"

    return places.sub(painted, line)
