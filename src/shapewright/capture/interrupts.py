"""Ctrl-C and the time limit reach the program, never our own setting up and undoing.

Half of an undoing would leave the user's model changed.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any

NUMBERS = (signal.SIGINT, signal.SIGALRM)
Heard = Callable[[], AbstractContextManager[None]]


@contextmanager
def undisturbed() -> Iterator[Heard]:
    """Signals wait, except inside the context that this yields.

    What waits at the end is delivered then; a time limit that ran out only while
    things were put back is forgotten.
    """
    if threading.current_thread() is not threading.main_thread():
        yield nullcontext
        return
    before = {number: signal.getsignal(number) for number in NUMBERS}
    theirs: dict[int, Any] = {n: call for n, call in before.items() if callable(call)}
    waiting: list[tuple[int, FrameType | None]] = []

    def wait(number: int, frame: FrameType | None) -> None:
        waiting.append((number, frame))

    def deliver() -> None:
        given, waiting[:] = list(waiting), []
        for number, frame in given:
            theirs[number](number, frame)

    @contextmanager
    def heard() -> Iterator[None]:
        _install(theirs)
        try:
            deliver()
            yield
        finally:
            _install(dict.fromkeys(theirs, wait))

    _install(dict.fromkeys(theirs, wait))
    try:
        yield heard
    finally:
        _install(theirs)
        waiting[:] = [one for one in waiting if one[0] == signal.SIGINT]
        deliver()


def _install(handlers: dict[Any, Any]) -> None:
    """Set handlers; a signal that comes meanwhile is raised when all are set."""
    caught: BaseException | None = None
    for number, handler in handlers.items():
        try:
            signal.signal(number, handler)
        except BaseException as raised:  # by the handler that is being replaced
            caught = raised
            signal.signal(number, handler)
    if caught is not None:
        raise caught
