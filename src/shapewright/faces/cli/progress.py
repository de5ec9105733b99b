"""A line on stderr that says what long work is at, for people at a terminal."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

Report = Callable[[str], None]

PATIENCE = 1.0
"""Seconds of work before anything is shown; most runs are over by then."""

PAUSE = 0.1
"""Seconds between two changes of the line."""

CLEAR = "\r\x1b[K"


@contextmanager
def on(stream: IO[str], patience: float = PATIENCE) -> Iterator[Report | None]:
    """What to call with the state of the work; None where nobody would see it."""
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    line = _Line(stream, time.monotonic() + patience)
    try:
        yield line.show
    finally:
        line.clear()


class _Line:
    """One line of a terminal, written over and over."""

    def __init__(self, stream: IO[str], due: float) -> None:
        self.stream = stream
        self.due = due
        self.shown = False

    def show(self, state: str) -> None:
        """Show `state` in place of what stood there, but not too often."""
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + PAUSE
        self.shown = True
        room = shutil.get_terminal_size().columns - 1  # a longer line would wrap
        self.stream.write(f"{CLEAR}{state[:room]}")
        self.stream.flush()

    def clear(self) -> None:
        """Leave nothing behind."""
        if self.shown:
            self.stream.write(CLEAR)
            self.stream.flush()
