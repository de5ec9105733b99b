"""Run a function in a forked child, which cannot change this process."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from shapewright.runtime.files.confinement import confine_writes, end_with_parent
from shapewright.runtime.files.program_files import find_layer, keep_files
from shapewright.runtime.processes.child_processes import (
    make_distant_pipe,
    wait_for_end,
)

Request = TypeVar("Request")
Result = TypeVar("Result")


class ChildLost(Exception):
    """Raised if a child process ended without a result."""


def run_in_child(function: Callable[[], Result], seconds: float) -> Result:
    """Return the result of `function` in a child process, killed after `seconds`.

    The child's output is discarded, and the files that it writes lie in a temporary
    folder. Raises `ChildLost` if it gives no answer.
    """
    children: Children[None, Result] = Children(lambda _: function(), seconds, 1)
    with children:
        (result,) = children.each([None])
    if result is None:
        raise ChildLost
    return result


def has_backward_in_forks() -> bool:
    """Return whether torch makes backward passes in forks of this process.

    It makes none once this process has made one on a machine with a GPU: autograd has a
    thread for each GPU then.
    """
    try:
        return run_in_child(_make_backward_pass, 10.0)
    except ChildLost:
        return False


def _make_backward_pass() -> bool:
    import torch

    torch.ones((), requires_grad=True).backward()
    return True


class Children(Generic[Request, Result]):
    """Child processes that call a function for each request sent to them.

    A child answers many: its first call is the expensive one, for the memory that it
    copies. Where calls take long anyway, `reused` is false, and each has a child of its
    own. A child that dies, or answers nothing for `seconds`, is replaced.
    """

    def __init__(
        self, function: Callable[[Request], Result], seconds: float, width: int
    ) -> None:
        self.function = function
        self.seconds = seconds
        self.width = width
        self.reused = True
        self.idle: list[_Child[Request, Result]] = []
        self.late = 0  # requests that had no answer in time
        self.folders = contextlib.ExitStack()

    def __enter__(self) -> Children[Request, Result]:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.idle:
            child.stop()
        self.idle = []
        self.folders.close()

    def each(self, requests: Sequence[Request]) -> list[Result | None]:
        """Return the result of each request, or None for a request without a result."""
        results: list[Result | None] = [None] * len(requests)
        waiting = list(reversed(range(len(requests))))
        working: list[_Child[Request, Result]] = []
        try:
            while waiting or working:
                while waiting and len(working) < self.width:
                    child = self.idle.pop() if self.idle else self.started()
                    child.ask(requests, waiting.pop())
                    working.append(child)
                soonest = min(child.until for child in working) - time.monotonic()
                files = [child.reading for child in working]
                ready = select.select(files, [], [], max(0.0, soonest))[0]
                for child in list(working):
                    if child.reading in ready and not child.answered(results):
                        continue
                    late = child.until <= time.monotonic()
                    if child.reading in ready or late:
                        self.late += child.reading not in ready
                        working.remove(child)
                        self.keep(child)
        finally:
            for child in working:
                child.stop()
        return results

    def started(self) -> _Child[Request, Result]:
        """Start another child process."""
        folder = tempfile.TemporaryDirectory(prefix="shapewright-")
        return _Child(self.function, self.seconds, self.folders.enter_context(folder))

    def keep(self, child: _Child[Request, Result]) -> None:
        """Keep a child that returned a result, and stop any other."""
        if child.waits and self.reused:
            self.idle.append(child)
        else:
            child.stop()


class _Child(Generic[Request, Result]):
    """A child process and its current request."""

    def __init__(
        self, function: Callable[[Request], Result], seconds: float, folder: str
    ) -> None:
        self.seconds = seconds
        self.until = 0.0
        self.at = 0
        self.waits = False
        self.received = b""
        self.reading, answers = make_distant_pipe()
        questions, self.writing = make_distant_pipe()
        self.number = os.fork()
        if self.number == 0:
            os.close(self.reading)
            os.close(self.writing)
            _answer_requests(function, questions, answers, folder)
        os.close(answers)
        os.close(questions)

    def ask(self, requests: Sequence[Request], at: int) -> None:
        """Send the request at index `at` to the child."""
        self.at, self.waits = at, False
        self.until = time.monotonic() + self.seconds
        question = pickle.dumps(requests[at])
        with contextlib.suppress(BrokenPipeError):
            _send_content(self.writing, question, self.until)

    def answered(self, results: list[Result | None]) -> bool:
        """Read what has arrived; return whether the child has sent all or is gone."""
        part = os.read(self.reading, 1 << 16)
        self.received += part
        if not part:
            return True
        if len(self.received) < HEAD.size:
            return False
        (size,) = HEAD.unpack_from(self.received)
        if len(self.received) < HEAD.size + size:
            return False
        answer, self.received = self.received[HEAD.size :], b""
        results[self.at] = pickle.loads(answer) if answer else None
        self.waits = True
        return True

    def stop(self) -> None:
        """Kill the child process."""
        os.close(self.reading)
        os.close(self.writing)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, signal.SIGKILL)
        wait_for_end(self.number, ENDING)


ENDING = 5.0
"""Seconds in which a killed child disappears; the kernel may hold it longer."""


HEAD = struct.Struct("!Q")
"""The length of what follows in a pipe."""


def _send_content(pipe: int, content: bytes, until: float | None = None) -> None:
    """Send content preceded by its length; give up if it is not read in time."""
    left = memoryview(HEAD.pack(len(content)) + content)
    while left:
        if until is not None:
            ready = select.select([], [pipe], [], max(0.0, until - time.monotonic()))
            if not ready[1]:
                return
        part = left if until is None else left[: select.PIPE_BUF]
        left = left[os.write(pipe, part) :]


def _receive_content(pipe: int) -> bytes | None:
    """Return the next content that was sent, or None at the end of the pipe."""
    parts = b""
    size = HEAD.size
    while len(parts) < size:
        part = os.read(pipe, 1 << 16)
        if not part:
            return None
        parts += part
        if size == HEAD.size and len(parts) >= size:
            size += HEAD.unpack_from(parts)[0]
    return parts[HEAD.size :]


def _answer_requests(
    function: Callable[[Any], Any], questions: int, answers: int, folder: str
) -> NoReturn:
    """Call `function` in the child for each request, and send the results."""
    code = 1
    try:
        gc.disable()  # a collection would write to all the memory that is shared
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        end_with_parent()
        tempfile.tempdir = folder
        confine_writes(folder)
        forever = contextlib.ExitStack()  # this process ends with `os._exit`
        if find_layer() is None:
            forever.enter_context(keep_files())
        while (question := _receive_content(questions)) is not None:
            answer = b""
            with contextlib.suppress(Exception):
                answer = pickle.dumps(function(pickle.loads(question)))
            _send_content(answers, answer)
        code = 0
    finally:
        os._exit(code)
