"""Pipes to child processes in which a program runs that knows small numbers only.

`open(5, "w")` of a program would write into a pipe that has the number 5.
"""

from __future__ import annotations

import os
import sys

FIRST = 500
"""The least number that a pipe's end gets, where the machine allows as many."""


def distant_pipe() -> tuple[int, int]:
    """An end to read from and one to write to, far from what a program opens."""
    reading, writing = os.pipe()
    return distant(reading), distant(writing)


def distant(end: int) -> int:
    """The same under a high number; as it is, where there is none."""
    if sys.platform == "win32":
        return end
    import fcntl

    try:
        moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST)
    except OSError:
        return end
    os.close(end)
    return moved
