"""Runs work in a child process, and reports how it ended, whatever ended it.

A program under study may end its process, crash it or be killed for its memory, and it
may write files, which the kernel can refuse to a process for good. The child is forked
before torch is imported, which costs a few milliseconds; where there is no fork, the
work is done here. What the child has for stdout and for files, this process writes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
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
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from shapewright.cli import output
from shapewright.cli.parser import Unusable
from shapewright.runtime.files.confinement import end_with_parent
from shapewright.runtime.processes.child_processes import (
    Standstill,
    make_distant_pipe,
    move_descriptor,
    note_own_process,
    wait_for_end,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapewright.findings.finding import Finding
    from shapewright.program.spans import Span
    from shapewright.record.ops import Source
    from shapewright.record.trace import Trace


PATIENCE = 0.1
"""Seconds between two checks whether the child lives, if its pipe stays open."""

GRACE = 2.0
"""Seconds that a child has to end itself after Ctrl-C."""


STILL = 300.0
"""Seconds without computation after which a program is assumed to wait for ever."""

STILL_ASKED = 3600.0
"""The limit for a program at a terminal, where it may wait for the user."""


State = TypeVar("State")
"""What a child tells of how far it is."""


class _Failed(Exception):
    """An error of ours in the child; the text is its traceback."""


@dataclass(frozen=True, slots=True)
class Ended(Generic[State]):
    """The end of a child without a result: its exit code, or the negative signal
    number.

    `told` is the last state that it reported. `still` is how long it had computed
    nothing if it was ended for that.
    """

    code: int
    seconds: float
    told: State | None = None
    still: float | None = None

    def __str__(self) -> str:
        if self.still is not None:
            return (
                f"the program's process was ended: it computed nothing for "
                f"{self.still:g} s, each of its threads was waiting"
            )
        if self.code >= 0:
            return f"the program's process ended with exit code {self.code}"
        name = signal.Signals(-self.code).name
        why = ", as it is where memory runs out" if name == "SIGKILL" else ""
        return f"the program's process was ended by {name}{why}"


class Here(Generic[State]):
    """The output of a command: results are printed, and written to files.

    This class does it at once, for work in this process.
    """

    folder: str | None = None  # the only one in which the work may write

    def tell(self, state: State) -> None:
        """Keep the last state, to be reported in case the process ends unexpectedly."""

    def show(self, text: str) -> None:
        """Print a result."""
        output.show(text)

    def save(self, file: Path, content: str | bytes) -> None:
        """Write a result to the file that the user named."""
        output.save(file, content)

    def warn(self, text: str) -> None:
        """Print text that is not a result."""
        sys.stderr.write(text)

    def replace(self, file: str, text: str) -> None:
        """Change a file of the program, as the user requested."""
        from shapewright.commands.check.fixes import replace

        replace(Path(file), text)

    def done(self, code: int) -> None:
        """Set the exit code, although the work cannot be completed."""


class _Distant(Here[State]):
    """The output of a command in a child process, which sends everything to its
    parent.
    """

    def __init__(self, writing: int, shared: int, folder: str) -> None:
        self.folder = folder
        self.writing = writing
        self.shared = shared
        self.write, self.place = os.write, os.pwrite  # as they are now

    def tell(self, state: State) -> None:
        kept = pickle.dumps(state)
        self.place(self.shared, len(kept).to_bytes(8, "big") + kept, 0)

    def show(self, text: str) -> None:
        self.send("show", text)

    def save(self, file: Path, content: str | bytes) -> None:
        self.send("save", file, content)

    def warn(self, text: str) -> None:
        self.send("warn", text)

    def replace(self, file: str, text: str) -> None:
        self.send("replace", file, text)

    def done(self, code: int) -> None:
        self.send("done", code)

    def send(self, kind: str, *values: object) -> None:
        """Send a message: its length, and a tuple."""
        message = pickle.dumps((kind, *values))
        left = memoryview(len(message).to_bytes(8, "big") + message)
        while left:
            left = left[self.write(self.writing, left) :]


class _Sent(io.TextIOBase, Generic[State]):
    """A stand-in for `sys.stderr`, which sends to the parent what is written.

    It is there if stderr is not a file that the child shares, or if the parent shows a
    progress line, which it must erase first; then `number` is the descriptor.
    """

    def __init__(self, parent: Here[State], number: int | None = None) -> None:
        self.parent = parent
        self.number = number

    def fileno(self) -> int:
        return super().fileno() if self.number is None else self.number

    def write(self, text: str) -> int:
        self.parent.warn(text)
        return len(text)


def _is_file(stream: Any, number: int) -> bool:
    """Return whether a stream writes to the open file with this number."""
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError):
        return False


def run(
    work: Callable[[Here[State]], int],
    ended: Callable[[Ended[State]], int],
    describe: Callable[[State | None], str] | None = None,
) -> int:
    """Return the exit code of `work` in a child process, or of `ended` if it returned
    none.

    What `work` last told its parent is in what `ended` gets. `describe` returns the
    words for it in the progress line, which people at a terminal see after a second.
    """
    main = threading.current_thread() is threading.main_thread()  # which has signals
    if not (main and hasattr(os, "fork")):
        return work(Here[State]())
    sys.stdout.flush()
    sys.stderr.flush()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="shapewright-"))
    try:
        with tempfile.TemporaryFile(dir=folder) as shared:
            began = time.monotonic()
            reading, writing = make_distant_pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                tempfile.tempdir = folder
                _run_work(
                    work,
                    _Distant(writing, move_descriptor(os.dup(shared.fileno())), folder),
                    describe is not None and output.is_progress_visible(sys.stderr),
                )
            os.close(writing)
            with output.show_progress(sys.stderr, quiet=describe is None) as line:
                messages = _Messages(line)
                status = _await_child(
                    child,
                    reading,
                    messages,
                    lambda: (
                        describe(_get_last_state(shared.fileno())) if describe else ""
                    ),
                )
            if messages.code is not None:
                return messages.code
            code = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - began
            last = _get_last_state(shared.fileno())
            return ended(Ended(code, seconds, last, messages.still))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_work(
    work: Callable[[Here[State]], int], parent: _Distant[State], has_line: bool
) -> NoReturn:
    """Work in the child, send the result, and end without the program's exit
    handlers.

    `has_line` says that the parent shows a progress line.
    """
    leave = os._exit
    code = 1
    try:
        end_with_parent()
        note_own_process()
        if "torch" in sys.modules:  # its threads are not copied by a fork
            sys.modules["torch"].set_num_threads(1)
        is_shared = _is_file(sys.stderr, 2)
        if has_line or not is_shared:
            sys.stderr = _Sent(parent, 2 if is_shared else None)
        # Torch's warnings of a call name the frame that calls it, which is ours here.
        warnings.filterwarnings("ignore", module=r"shapewright\.")
        with contextlib.suppress(OSError, ValueError):
            faulthandler.enable()  # says on stderr where a crash was
        answer: tuple[str, Any]
        try:
            answer = "done", work(parent)
        except Unusable as error:
            answer = "unusable", str(error)
        except KeyboardInterrupt:
            answer = "interrupted", None
        except Exception:  # a bug of ours; the parent reports it
            answer = "failed", traceback.format_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        parent.send(*answer)
        code = 0
    finally:
        leave(code)


class _Messages:
    """The messages of a child, acted on as soon as they are complete."""

    def __init__(self, line: output.ProgressLine | None) -> None:
        self.line = line
        self.received = b""
        self.is_within_line = False  # the program printed a part of a line
        self.code: int | None = None
        self.still: float | None = None  # it was ended, having done nothing so long
        self.here = Here[object]()

    def take(self, part: bytes) -> None:
        """Receive a part, and act on the messages that it completes."""
        self.received += part
        while len(self.received) >= 8:
            end = 8 + int.from_bytes(self.received[:8])
            if len(self.received) < end:
                return
            message, self.received = self.received[8:end], self.received[end:]
            self.do(*pickle.loads(message))

    def do(self, kind: str, *values: Any) -> None:
        """Act on a message, or raise its error."""
        if self.line is not None:  # it is in the way of what is printed
            self.line.clear()
        if kind == "warn" and values[0]:
            self.is_within_line = not values[0].endswith("\n")
        if kind == "unusable":
            raise Unusable(*values)
        if kind == "interrupted":
            raise KeyboardInterrupt
        if kind == "failed":
            raise _Failed(f"in the child process\n\n{values[0]}")
        if kind == "done":
            (self.code,) = values
        else:
            getattr(self.here, kind)(*values)


def _await_child(
    child: int, reading: int, messages: _Messages, describe: Callable[[], str]
) -> int:
    """Handle the messages of a child until the child ends, and return its status.

    Until then the progress line shows what `describe` returns. Ctrl-C reaches the child
    too: it ends itself, or is ended.
    """
    asked: list[float] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        if asked:
            os.kill(child, signal.SIGKILL)
        asked.append(time.monotonic())

    before = signal.signal(signal.SIGINT, interrupted)
    others = {number: signal.signal(number, _build_killer(child)) for number in FATAL}
    status, gone = 0, False
    still = Standstill(child, STILL_ASKED if _is_asked() else STILL)
    try:
        while messages.code is None and not gone:
            if messages.line is not None and not messages.is_within_line:
                messages.line.show(describe)
            ready = select.select([reading], [], [], PATIENCE)[0]
            part = os.read(reading, 1 << 16) if ready else None
            if part == b"":
                break
            messages.take(part or b"")
            if part is None:
                number, status = os.waitpid(child, os.WNOHANG)
                gone = number == child
            if part is None and not gone and still.is_met():
                messages.still = still.seconds
                break
            if asked and time.monotonic() > asked[0] + GRACE:
                os.kill(child, signal.SIGKILL)
        while gone and select.select([reading], [], [], 0)[0]:  # written just before
            part = os.read(reading, 1 << 16)
            if not part:
                break
            messages.take(part)
    finally:
        os.close(reading)
        if not gone:
            over = messages.code is not None or messages.still is not None
            if over or sys.exception() is not None:
                os.kill(child, signal.SIGKILL)  # it has nothing more to do
            status = _get_status(child)
        signal.signal(signal.SIGINT, before)
        for number, handler in others.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt
    return status


def _get_status(child: int) -> int:
    """Return the status of a child that sends nothing more; kill it if it does not
    end.
    """
    status = wait_for_end(child, GRACE)
    if status is None:
        os.kill(child, signal.SIGKILL)
        status = wait_for_end(child, GRACE)
    return signal.SIGKILL if status is None else status


def _is_asked() -> bool:
    """Return whether a user may type the program's input."""
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # closed
        return False


FATAL = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else ()
"""Signals that end this process, and the child with it."""


def _build_killer(child: int) -> Callable[[int, FrameType | None], None]:
    def die(number: int, frame: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL)
        raise SystemExit(128 + number)

    return die


def _get_last_state(shared: int) -> Any:
    """Return the last state that a child reported, or None."""
    size = int.from_bytes(os.pread(shared, 8, 0))
    kept = os.pread(shared, size, 8)
    try:
        return pickle.loads(kept) if size else None
    except Exception:  # it ended in the middle of it
        return None


def build_ended_trace(target: str, child: Ended[Any], timeout: float | None) -> Trace:
    """Return the trace of a program whose process ended, with a finding about that."""
    return build_trace(target, build_ended_finding(child, timeout))


def build_ended_finding(
    child: Ended[Any], timeout: float | None, seen: str = "", span: Span | None = None
) -> Finding:
    """Return a finding about the end of the process; `seen` describes its last known
    place.
    """
    from shapewright.findings.codes import PROGRAM_EXIT, TIMEOUT
    from shapewright.findings.finding import Finding

    code, message = PROGRAM_EXIT, str(child)
    if timeout is not None and child.code >= 0 and child.seconds >= timeout:
        code = TIMEOUT
        message = f"stopped after {timeout:g} s, the time allowed by `--timeout`"
    return Finding(code, "error", message + seen, span)


def build_trace(
    target: str, finding: Finding, sources: Mapping[str, Source] | None = None
) -> Trace:
    """Return an incomplete trace without calls, with a finding."""
    from shapewright.record.trace import Trace

    return Trace(
        target=target, ops=(), calls=(), states=(), output=None,
        findings=(finding,), complete=False, sources=dict(sources or {}),
    )  # fmt: skip


def build_progress(parent: Here[str], quiet: bool) -> Callable[[str], None] | None:
    """Return a function that tells the parent of each module, but not too often, or
    None if nobody would see it.
    """
    if quiet or not output.is_progress_visible(sys.stderr):
        return None
    due = time.monotonic()

    def tell(module: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + output.PAUSE
            parent.tell(module)

    return tell
