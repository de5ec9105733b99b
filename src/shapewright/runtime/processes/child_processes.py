"""Child processes seen from outside: pipes, exit status, and whether they compute.

`open(5, "w")` of a program would write into a pipe that has the number 5.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

_own: list[int] = []


def note_own_process() -> None:
    """Note that this process is a command's own: nobody's training runs in it."""
    _own.append(os.getpid())


def is_own_process() -> bool:
    """Return whether a command started this process, or one that forked it."""
    return bool(_own)


LOOKS = 1.0
"""Seconds between two checks of a process."""


def wait_for_end(child: int, seconds: float) -> int | None:
    """Return the exit status of a child, or None if it still runs after `seconds`."""
    until, pause = time.monotonic() + seconds, 0.0005
    while True:
        number, status = os.waitpid(child, os.WNOHANG)
        if number == child:
            return status
        if time.monotonic() > until:
            return None
        time.sleep(pause)
        pause = min(0.05, 2 * pause)


class Standstill:
    """A detector for a process that, with its children, has not computed for `seconds`.

    A process that computes may take as long as it likes; one in which every thread
    waits for another would do so for ever. Only Linux reports this.
    """

    def __init__(self, process: int, seconds: float) -> None:
        self.process = process
        self.seconds = seconds
        self.looked = self.moved = time.monotonic()
        self.ticks = -1

    def is_met(self) -> bool:
        """Return whether the process and its children have stopped computing."""
        now = time.monotonic()
        if now < self.looked + min(LOOKS, self.seconds / 4):
            return False
        self.looked = now
        ticks = sum(_get_cpu_time(process) for process in _iter_family(self.process))
        if ticks != self.ticks or not os.path.exists("/proc/self/stat"):
            self.ticks, self.moved = ticks, now
        return now > self.moved + self.seconds


def _iter_family(process: int) -> Iterator[int]:
    """Yield a process, its children, their children, and so on."""
    yield process
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as stream:
                for child in stream.read().split():
                    yield from _iter_family(int(child))


def _get_cpu_time(process: int) -> int:
    """Return the CPU time that a process has used, or 0 if it is not known."""
    try:
        with open(f"/proc/{process}/stat") as stream:
            parts = stream.read().rpartition(")")[2].split()
        return sum(map(int, parts[11:15]))  # its own, and of children that ended
    except (OSError, ValueError):
        return 0


FIRST = 500
"""The least number that a pipe's end gets, if the machine allows as many."""


def make_distant_pipe() -> tuple[int, int]:
    """Return the read and write ends of a pipe, moved to high descriptor numbers."""
    reading, writing = os.pipe()
    return move_descriptor(reading), move_descriptor(writing)


def move_descriptor(end: int) -> int:
    """Move a file descriptor to a high number, or return it unchanged on failure."""
    if sys.platform == "win32":
        return end
    import fcntl

    try:
        moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FIRST)
    except OSError:
        return end
    os.close(end)
    return moved
