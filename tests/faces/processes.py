"""The command as a process of its own, at a fraction of the cost: `fork_server.py`."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SERVER = Path(__file__).with_name("fork_server.py")

CLIENT = """\
#!{python} -IS
import json, os, socket, sys
asking = socket.socket(socket.AF_UNIX)
asking.connect({path!r})
request = {{"arguments": sys.argv[1:], "folder": os.getcwd()}}
request["environment"] = dict(os.environ)
text = json.dumps(request).encode() + b"\\n"
sent = socket.send_fds(asking, [text], [0, 1, 2])
asking.sendall(text[sent:])
code = int(asking.recv(64) or 1)
os._exit(code if code >= 0 else 128 - code)
"""
"""`shapewright` as shells find it: it hands its streams on, and waits."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a finished command left."""

    code: int
    out: str
    err: str


class Server:
    """Runs commands; `close` ends it.

    `commands` is a folder with a `shapewright` for shells.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="server-", dir="/tmp"))
        self.path = str(self.folder / "socket")
        self.environment = {k: v for k, v in os.environ.items() if k != "FORCE_COLOR"}
        self.process = subprocess.Popen(
            [sys.executable, SERVER, self.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == b"ready\n"
        self.commands = self.folder / "bin"
        self.commands.mkdir()
        client = self.commands / "shapewright"
        client.write_text(CLIENT.format(python=sys.executable, path=self.path))
        client.chmod(0o755)

    def run(self, folder: Path, *arguments: str, **environment: str) -> Done:
        """One command, in `folder`, with these changes to the environment."""
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        nothing = os.open(os.devnull, os.O_RDONLY)
        with out, err:
            code = self.ask(
                folder,
                arguments,
                {**self.environment, **environment},
                [nothing, out.fileno(), err.fileno()],
            )
            os.close(nothing)
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode("utf-8", "replace"))
        return Done(code, *said)

    def ask(
        self,
        folder: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        streams: Sequence[int],
    ) -> int:
        """The exit code of a command with these streams; below 0 the signal."""
        request = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": dict(environment),
        }
        text = json.dumps(request).encode() + b"\n"
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(self.path)
            sent = socket.send_fds(asking, [text], list(streams))
            asking.sendall(text[sent:])
            return int(asking.recv(64))

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()
        shutil.rmtree(self.folder)


@cache
def shared() -> Server:
    """The server of this run of tests."""
    server = Server()
    atexit.register(server.close)
    return server
