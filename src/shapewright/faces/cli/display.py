"""What the terminal at the other end can show."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TextIO

PIPE_WIDTH = 100
"""Columns of a result that is not written to a terminal."""


@dataclass(frozen=True, slots=True)
class Display:
    """Width in columns, whether to colour, whether it can show `├` and `→`.

    Example: ``Display(width=100, color=False)`` when piped, whatever the terminal.
    """

    width: int = PIPE_WIDTH
    color: bool = False
    unicode: bool = True


def of(stream: TextIO) -> Display:
    """The display behind `stream`, by its kind and by NO_COLOR and FORCE_COLOR."""
    terminal = stream.isatty()
    width = shutil.get_terminal_size().columns if terminal else PIPE_WIDTH
    return Display(width, _color(terminal), _unicode(stream))


def _color(terminal: bool) -> bool:
    """NO_COLOR wins over FORCE_COLOR; each counts when it is set and not empty."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _unicode(stream: TextIO) -> bool:
    try:
        "├→…⋮".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
