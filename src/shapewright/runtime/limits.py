"""Limits of a run: its time, its output, and where Ctrl-C may interrupt it.

The restoring of state is not interrupted: half of it would leave the user's model
changed.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import FrameType, TracebackType
from typing import Any, TextIO

from shapewright.engine.failures.run_ends import Stopped
from shapewright.runtime.processes.child_processes import move_descriptor

MOST_PRINTED = 1 << 20
"""Characters of the program's own output that are passed on."""

GRACE = 2.0
"""Seconds after the limit until a program that cannot be interrupted is ended."""


TELLING = 30.0
"""Seconds that we have to report a program that was stopped."""

LEAVE = os._exit
"""`os._exit` as it was before the program's run patches it."""

Last = Callable[[Stopped], None]
"""Function called with the report before a program that goes on is ended."""


class Limit:
    """The time that a command allows the program, and whether that time is over.

    While it is held, the program has ended and we write the report: nothing is
    interrupted, but that time has a limit too.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.held = False
        self.is_over = False

    def stopped(self) -> Stopped:
        """Return the exception to raise when the time is over."""
        return Stopped(
            f"stopped after {self.seconds:g} s, the time allowed by `--timeout`"
        )

    def hold(self) -> None:
        """Hold the limit, since the program has ended."""
        self.held = True

    def release(self) -> None:
        """Release the limit for the program; raise `Stopped` if time is over."""
        self.held = False
        if self.is_over:
            raise self.stopped()


@contextmanager
def limit_time(
    seconds: float | None, *, hard: bool = False, last: Last | None = None
) -> Iterator[Limit]:
    """Stop the program after `seconds`.

    A signal raises `Stopped` between two steps of Python; it is sent again each second,
    because a program may swallow it. With `hard`, a process that goes on all the same
    is ended, after `last` was called, with exit code 1. Signals need the main thread;
    elsewhere only `hard` works.
    """
    limit = Limit(seconds)
    if seconds is None:
        yield limit
        return
    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            stack.enter_context(_set_alarm(limit, seconds))
        if hard:
            stack.enter_context(_start_watchdog(limit, seconds + GRACE, last))
        yield limit


@contextmanager
def _set_alarm(limit: Limit, seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        limit.is_over = True
        if not limit.held:
            raise limit.stopped()

    def inherit() -> None:  # a timer does not reach the child of a fork
        if os.getpid() != owner and signal.getsignal(signal.SIGALRM) is stop:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds)

    owner = os.getpid()
    before = signal.signal(signal.SIGALRM, stop)
    os.register_at_fork(after_in_child=inherit)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _start_watchdog(limit: Limit, wait: float, last: Last | None) -> Iterator[None]:
    """End the process when its time is over: from a thread, or from C if Python
    hangs.
    """

    def watch() -> None:
        if left.wait(wait):
            return
        end_from_c(TELLING + GRACE)  # Python does not stand still, as this shows
        if limit.held and left.wait(TELLING):
            return
        try:
            if last is not None and not limit.held:
                last(limit.stopped().with_traceback(_make_traceback(owner)))
        finally:
            LEAVE(1)

    def end_from_c(seconds: float) -> None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=2)

    owner = threading.get_ident()
    left = threading.Event()
    threading.Thread(target=watch, daemon=True).start()
    end_from_c(wait + GRACE)
    try:
        yield
    finally:
        left.set()
        faulthandler.cancel_dump_traceback_later()


def _make_traceback(thread: int) -> TracebackType | None:
    """Return the current stack of a thread as a traceback."""
    frame = sys._current_frames().get(thread)
    traceback: TracebackType | None = None
    while frame is not None:
        traceback = TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return traceback


class _Chatter:
    """A stream that passes what the program prints to stderr, up to a limit."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.printed = 0

    def write(self, text: str) -> int:
        room = MOST_PRINTED - self.printed
        self.printed += len(text)
        if room >= 0 and text:
            self.stream.write(text[:room])
            if len(text) > room:
                self.printed = MOST_PRINTED + 1
                self.stream.write(
                    "\nshapewright: the program printed more than "
                    f"{MOST_PRINTED >> 20} MB; the rest is not shown\n"
                )
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """Return the binary buffer, whose bytes count toward the limit too."""
        return _Bytes(self)

    def close(self) -> None:
        """Ignore the program closing its stdout; ours stays open."""

    def isatty(self) -> bool:
        return False  # no progress bars of the program's

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Bytes:
    def __init__(self, chatter: _Chatter) -> None:
        self.chatter = chatter

    def write(self, data: Any) -> int:
        self.chatter.write(bytes(data).decode("utf-8", "replace"))
        return len(data)

    def flush(self) -> None:
        self.chatter.flush()


class _OfOneThread:
    """A stdout for the thread that writes the result; other threads use `others`."""

    def __init__(self, stream: TextIO, others: _Chatter) -> None:
        self.stream = stream
        self.others = others
        self.owner = threading.get_ident()

    def write(self, text: str) -> int:
        mine = threading.get_ident() == self.owner
        return self.stream.write(text) if mine else self.others.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def redirect_to_stderr() -> Iterator[Callable[[], None]]:
    """Send what the program prints to stderr, since stdout belongs to the result.

    This includes writes to file descriptor 1 (C code, `os.write`, child processes).
    Yields a function that ends this early.
    """
    out, error = sys.stdout, sys.stderr
    chatter: Any = _Chatter(error)
    threads = set(threading.enumerate())
    with _redirect_descriptor() as restore:

        def end() -> None:
            restore()
            others: Any = _OfOneThread(out, chatter)
            sys.stdout = others if set(threading.enumerate()) - threads else out
            sys.stderr = error

        sys.stdout = sys.stderr = chatter
        try:
            yield end
        finally:
            end()


@contextmanager
def redirect_to_nowhere() -> Iterator[None]:
    """Discard what the program prints, in a run that repeats another one."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


@contextmanager
def _redirect_descriptor() -> Iterator[Callable[[], None]]:
    """Redirect file descriptor 1 to 2, until the yielded function is called."""
    try:
        sys.stdout.flush()
        kept = move_descriptor(os.dup(1))
    except (OSError, ValueError):  # closed, or no file
        yield lambda: None
        return

    def restore() -> None:
        if sys.__stdout__ is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.__stdout__.flush()  # what was written past us goes to stderr
        os.dup2(kept, 1)

    os.dup2(2, 1)
    try:
        yield restore
    finally:
        restore()
        os.close(kept)


NUMBERS = (signal.SIGINT, signal.SIGALRM)
Heard = Callable[[], AbstractContextManager[None]]


@contextmanager
def delay_signals() -> Iterator[Heard]:
    """Delay signals in the block, except inside the yielded context manager.

    Signals that wait at the end are delivered then; a time limit that ran out only
    while state was restored is forgotten.
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
        pending, waiting[:] = list(waiting), []
        for number, frame in pending:
            theirs[number](number, frame)

    @contextmanager
    def heard() -> Iterator[None]:
        _install_handlers(theirs)
        try:
            deliver()
            yield
        finally:
            _install_handlers(dict.fromkeys(theirs, wait))

    _install_handlers(dict.fromkeys(theirs, wait))
    try:
        yield heard
    finally:
        _install_handlers(theirs)
        waiting[:] = [
            pending_signal
            for pending_signal in waiting
            if pending_signal[0] == signal.SIGINT
        ]
        deliver()


def _install_handlers(handlers: dict[Any, Any]) -> None:
    """Install signal handlers; an error raised meanwhile is raised again at the end."""
    caught: BaseException | None = None
    for number, handler in handlers.items():
        try:
            signal.signal(number, handler)
        except BaseException as raised:  # by the handler that is being replaced
            caught = raised
            signal.signal(number, handler)
    if caught is not None:
        raise caught
