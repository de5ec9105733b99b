"""Work in a child process, whose end is told whatever ends it.

A program under study may end its process, crash it or be killed for its memory. The
child is forked before torch is imported, which costs a few milliseconds; where there is
no fork, the work is done here.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from shapewright.capture.pipes import distant, distant_pipe
from shapewright.faces.cli.parser import Unusable

PATIENCE = 0.1
"""Seconds between two looks whether the child lives, where its pipe stays open."""

GRACE = 2.0
"""Seconds that a child has to end itself after Ctrl-C."""

Outcome = tuple[str, int]
"""What to print, and the exit code."""

Heard = Callable[[Any], None]
"""What the child is to tell while it works: the last counts, if it dies."""


class Failed(Exception):
    """We failed in the child; the text is its traceback."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended that gave no answer: its exit code, or below 0 the signal.

    `told` is the last that it had to tell.
    """

    code: int
    seconds: float
    told: Any = None

    def __str__(self) -> str:
        if self.code >= 0:
            return f"the program's process ended with exit code {self.code}"
        name = signal.Signals(-self.code).name
        why = ", as it is where memory runs out" if name == "SIGKILL" else ""
        return f"the program's process was ended by {name}{why}"


def outcome(
    work: Callable[[Heard], Outcome], ended: Callable[[Ended], Outcome]
) -> Outcome:
    """What `work` gives in a child; what `ended` gives where the child gave nothing."""
    main = threading.current_thread() is threading.main_thread()  # which has signals
    if not (main and hasattr(os, "fork")):
        return work(lambda told: None)
    sys.stdout.flush()
    sys.stderr.flush()
    folder = tempfile.mkdtemp(prefix="shapewright-")
    try:
        with tempfile.TemporaryFile(dir=folder) as shared:
            began = time.monotonic()
            reading, writing = distant_pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                tempfile.tempdir = folder
                _work(work, writing, distant(os.dup(shared.fileno())))
            os.close(writing)
            answer, status = _awaited(child, reading)
            if answer is not None:
                return _given(answer)
            code = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - began
            return ended(Ended(code, seconds, _last(shared.fileno())))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _work(work: Callable[[Heard], Outcome], writing: int, shared: int) -> NoReturn:
    """In the child: work, answer, end without what the program left for the exit."""
    leave, write, place = os._exit, os.write, os.pwrite
    code = 1
    try:
        with contextlib.suppress(OSError, ValueError):
            faulthandler.enable()  # says on stderr where a crash was

        def heard(told: Any) -> None:
            kept = pickle.dumps(told)
            place(shared, len(kept).to_bytes(8, "big") + kept, 0)

        answer: tuple[str, Any]
        try:
            answer = "done", work(heard)
        except Unusable as error:
            answer = "unusable", str(error)
        except KeyboardInterrupt:
            answer = "interrupted", None
        except Exception:
            answer = "failed", traceback.format_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        left = memoryview(pickle.dumps(answer))
        left = memoryview(len(left).to_bytes(8, "big") + bytes(left))
        while left:
            left = left[write(writing, left) :]
        code = 0
    finally:
        leave(code)


def _given(answer: bytes) -> Outcome:
    """The answer of a child, raised where it is no outcome."""
    kind, value = pickle.loads(answer)
    if kind == "unusable":
        raise Unusable(value)
    if kind == "interrupted":
        raise KeyboardInterrupt
    if kind == "failed":
        raise Failed(f"in the child process\n\n{value}")
    outcome: Outcome = value
    return outcome


def _awaited(child: int, reading: int) -> tuple[bytes | None, int]:
    """What a child answers, and how it ended.

    Ctrl-C reaches it too: it ends itself, or is ended.
    """
    asked: list[float] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        if asked:
            os.kill(child, signal.SIGKILL)
        asked.append(time.monotonic())

    before = signal.signal(signal.SIGINT, interrupted)
    others = {number: signal.signal(number, _dying(child)) for number in FATAL}
    try:
        received, gone, status = b"", False, 0
        while not (_is_whole(received) or gone):
            ready = select.select([reading], [], [], PATIENCE)[0]
            part = os.read(reading, 1 << 16) if ready else None
            received += part or b""
            if part is None:
                number, status = os.waitpid(child, os.WNOHANG)
                gone = number == child
            if part == b"":
                break
            if asked and time.monotonic() > asked[0] + GRACE:
                os.kill(child, signal.SIGKILL)
        if not gone:
            status = os.waitpid(child, 0)[1]
        while gone and select.select([reading], [], [], 0)[0]:  # written just before
            part = os.read(reading, 1 << 16)
            if not part:
                break
            received += part
    finally:
        os.close(reading)
        signal.signal(signal.SIGINT, before)
        for number, handler in others.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt
    return (received[8:] if _is_whole(received) else None), status


FATAL = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else ()
"""Signals of which we die, and the child with us."""


def _dying(child: int) -> Callable[[int, FrameType | None], None]:
    def die(number: int, frame: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL)
        raise SystemExit(128 + number)

    return die


def _is_whole(received: bytes) -> bool:
    """Whether an answer has come to its end."""
    return len(received) >= 8 and len(received) - 8 >= int.from_bytes(received[:8])


def _last(shared: int) -> Any:
    """The last that a child had to tell, where there is any."""
    size = int.from_bytes(os.pread(shared, 8, 0))
    kept = os.pread(shared, size, 8)
    try:
        return pickle.loads(kept) if size else None
    except Exception:  # it ended in the middle of it
        return None
