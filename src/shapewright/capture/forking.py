"""A function run in a forked child: whatever it does stays there."""

from __future__ import annotations

import builtins
import contextlib
import gc
import io
import itertools
import os
import pickle
import select
import signal
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import torch

Result = TypeVar("Result")


class Lost(Exception):
    """The child ended without an answer."""


def in_child(function: Callable[[], Result], seconds: float) -> Result:
    """What `function` returns in a child process, which is ended after `seconds`.

    The child prints to nowhere, and the files that it opens for writing lie in a
    temporary folder. Raises `Lost` where it gives no answer.
    """
    (made,) = each_in_child([function], seconds)
    if made is None:
        raise Lost
    return made


def each_in_child(
    functions: Sequence[Callable[[], Result]], seconds: float, width: int = 1
) -> list[Result | None]:
    """What each function returns in a child process; None where it gives no answer.

    One child calls several, one after the other: the first call of a child is the
    dear one, for the memory that it copies. `width` children work side by side. Where
    one dies, or answers nothing for `seconds`, another goes on behind the call that it
    was at.
    """
    found: list[Result | None] = [None] * len(functions)
    shares = [list(range(n, len(functions), width)) for n in range(width)]
    with contextlib.ExitStack() as stack:
        children = [
            stack.enter_context(_Child(functions, share, seconds).running())
            for share in shares
            if share
        ]
        while working := [child for child in children if child.left]:
            soonest = min(child.until for child in working) - time.monotonic()
            files = [child.reading for child in working]
            ready = select.select(files, [], [], max(0.0, soonest))[0]
            for child in working:
                if child.reading in ready:
                    child.read(found)
                elif child.until <= time.monotonic():
                    child.give_up()
    return found


@dataclass(slots=True)
class _Child(Generic[Result]):
    """A child process and the calls that are left to it, in order."""

    functions: Sequence[Callable[[], Result]]
    left: list[int]
    seconds: float
    folder: str = ""
    number: int = 0
    reading: int = -1
    until: float = 0.0
    received: bytes = b""

    @contextlib.contextmanager
    def running(self) -> Iterator[_Child[Result]]:
        """The child, ended and its files removed afterwards."""
        with tempfile.TemporaryDirectory(prefix="shapewright-") as self.folder:
            self.start()
            try:
                yield self
            finally:
                self.stop()

    def start(self) -> None:
        """Fork; in the child call what is left and answer with each result."""
        self.reading, writing = os.pipe()
        self.received = b""
        self.until = time.monotonic() + self.seconds
        self.number = os.fork()
        if self.number == 0:
            os.close(self.reading)
            _answer([self.functions[n] for n in self.left], writing, self.folder)
        os.close(writing)

    def stop(self) -> None:
        """End the child, whatever it does."""
        if self.number:
            os.close(self.reading)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.number, signal.SIGKILL)
            os.waitpid(self.number, 0)
            self.number = 0

    def give_up(self) -> None:
        """Leave the call that the child is at without an answer, go on behind it."""
        self.stop()
        del self.left[:1]
        if self.left:
            self.start()

    def read(self, found: list[Result | None]) -> None:
        """Take the answers that have come."""
        part = os.read(self.reading, 1 << 16)
        if not part:
            self.give_up()
            return
        self.received += part
        while len(self.received) >= HEAD.size:
            (size,) = HEAD.unpack_from(self.received)
            if len(self.received) < HEAD.size + size:
                return
            answer = self.received[HEAD.size : HEAD.size + size]
            self.received = self.received[HEAD.size + size :]
            found[self.left.pop(0)] = pickle.loads(answer) if answer else None
            self.until = time.monotonic() + self.seconds


HEAD = struct.Struct("!Q")
"""The length of an answer, which stands before it."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch computes in this thread alone: no fork copies its pool of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _answer(
    functions: Sequence[Callable[[], Any]], writing: int, folder: str
) -> NoReturn:
    """In the child: run, send the answers, end without any clean-up."""
    code = 1
    try:
        gc.disable()  # a collection would write to all the memory that is shared
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        moved: dict[str, str] = {}
        _redirect(folder, moved)
        with os.fdopen(writing, "wb") as pipe:
            for function in functions:
                moved.clear()
                answer = b""
                with contextlib.suppress(Exception):
                    answer = pickle.dumps(function())
                pipe.write(HEAD.pack(len(answer)) + answer)
                pipe.flush()
        code = 0
    finally:
        os._exit(code)


def _redirect(folder: str, moved: dict[str, str]) -> None:
    """Files that are opened for writing lie in a folder that is removed.

    `moved` has where they are, by the path that was meant.
    """
    original = io.open
    count = itertools.count()

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(file, str | os.PathLike) and isinstance(mode, str):
            path = os.path.abspath(os.fspath(file))
            if path in moved:
                file = moved[path]
            elif set(mode) & set("wax+") and not path.startswith("/dev/"):
                file = moved[path] = os.path.join(folder, str(next(count)))
        return original(file, mode, *rest, **named)

    builtins.open = io.open = opened
    for name in ("remove", "unlink", "rmdir", "rename", "replace", "makedirs", "mkdir"):
        setattr(os, name, lambda *args, **named: None)
