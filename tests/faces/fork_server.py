"""Commands, each in a process of its own that need not import torch again.

This process imports torch and all of shapewright once, and listens on the socket that
it was named. For each request it forks: the child gets the arguments, the folder, the
environment and the standard streams of who asks, and runs `shapewright` in them.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import threading
from typing import NoReturn

import torch  # noqa: F401

import shapewright
from shapewright.cli import main as cli

LEFT_OUT = ("shapewright.__main__", "shapewright.integrations.ipython")
"""Modules that act when they are imported, or need what is not installed."""


def import_all() -> None:
    """Every module that a command may need: a child imports none again."""
    for module in pkgutil.walk_packages(shapewright.__path__, "shapewright."):
        if module.name not in LEFT_OUT:
            importlib.import_module(module.name)


def serve(path: str) -> None:
    """Answer requests until the standard input is closed."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(woken)
    asking: dict[int, socket.socket] = {}
    print("ready", flush=True)
    while True:
        ready = select.select([listening, waking, 0], [], [])[0]
        if waking in ready:
            os.read(waking, 4096)
            answer_ended(asking)
        if listening in ready:
            connection = listening.accept()[0]
            request, streams = receive(connection)
            child = os.fork()
            if not child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for held in (waking, woken, listening.detach(), connection.detach()):
                    os.close(held)
                for other in asking.values():
                    other.close()
                run(request, streams)
            for stream in streams:
                os.close(stream)
            asking[child] = connection
        if 0 in ready:
            return


def answer_ended(asking: dict[int, socket.socket]) -> None:
    """Send the exit codes of children that ended."""
    while asking:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with asking.pop(child) as connection, contextlib.suppress(BrokenPipeError):
            connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def receive(connection: socket.socket) -> tuple[dict[str, object], list[int]]:
    """A request: a line of JSON, and three streams."""
    text, streams, *_ = socket.recv_fds(connection, 1 << 16, 3)
    while not text.endswith(b"\n"):
        text += connection.recv(1 << 16)
    return json.loads(text), streams


def run(request: dict[str, object], streams: list[int]) -> NoReturn:
    """The command, as a process of its own would run it."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(str(request["folder"]))
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    sys.argv = ["shapewright", *request["arguments"]]  # type: ignore[misc]
    code = cli.command()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with contextlib.suppress(BrokenPipeError, ValueError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without the interpreter's end, which takes torch apart


if __name__ == "__main__":
    import_all()
    gc.collect()
    gc.freeze()  # a collection in a child would copy the memory that is shared
    serve(sys.argv[1])
