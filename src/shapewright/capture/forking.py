"""A function run in a forked child: whatever it does stays there."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import pickle
import select
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")


class Lost(Exception):
    """The child ended without an answer."""


def in_child(function: Callable[[], Result], seconds: float) -> Result:
    """What `function` returns in a child process, which is ended after `seconds`.

    The child prints to nowhere, and the files that it opens for writing lie in a
    temporary folder. Raises `Lost` where it gives no answer.
    """
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory(prefix="shapewright-") as folder:
        child = os.fork()
        if child == 0:
            os.close(reading)
            _answer(function, writing, folder)
        os.close(writing)
        try:
            answer = _received(reading, seconds)
        finally:
            os.close(reading)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if not answer:
        raise Lost
    made: Result = pickle.loads(answer)
    return made


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch computes in this thread alone: no fork copies its pool of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _received(reading: int, seconds: float) -> bytes:
    """All bytes until the end; nothing where the time is over before."""
    until = time.monotonic() + seconds
    parts: list[bytes] = []
    while True:
        left = until - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return b""
        part = os.read(reading, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _answer(function: Callable[[], Any], writing: int, folder: str) -> None:
    """In the child: run, send the answer, end without any clean-up."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        _redirect(folder)
        answer = pickle.dumps(function())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)


def _redirect(folder: str) -> None:
    """Files that are opened for writing lie in a folder that is removed."""
    original = io.open
    moved: dict[str, str] = {}

    def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if isinstance(file, str | os.PathLike) and isinstance(mode, str):
            path = os.path.abspath(os.fspath(file))
            if path in moved:
                file = moved[path]
            elif set(mode) & set("wax+") and not path.startswith("/dev/"):
                file = moved[path] = os.path.join(folder, str(len(moved)))
        return original(file, mode, *rest, **named)

    builtins.open = io.open = opened
    for name in ("remove", "unlink", "rmdir", "rename", "replace", "makedirs", "mkdir"):
        setattr(os, name, lambda *args, **named: None)
