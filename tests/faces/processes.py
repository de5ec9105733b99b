"""The command as a process of its own, at a fraction of the cost.

One process imports torch and shapewright and forks at each request, so that every
command has its own process, descriptors and exit, without importing torch again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVER = """
import json, os, sys
import torch, shapewright.faces.cli.main as cli
import shapewright.api, shapewright.capture.limits, shapewright.capture.running
import shapewright.inputs.load, shapewright.views.terminal

for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if not child:
        break
    status = os.waitpid(child, 0)[1]
    print(os.waitstatus_to_exitcode(status), flush=True)
else:
    sys.exit()
os.setsid()
os.chdir(request["folder"])
for name, number in (("stdout", 1), ("stderr", 2)):
    file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, number)
    os.close(file)
os.close(0)
os.open(os.devnull, os.O_RDONLY)
sys.argv = ["shapewright", *request["arguments"]]
sys.exit(cli.command())
"""


@dataclass(frozen=True, slots=True)
class Done:
    """What a finished command left."""

    code: int
    out: str
    err: str


class Server:
    """Runs commands; `close` ends it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR",)},
        )

    def run(self, folder: Path, *arguments: str) -> Done:
        """One command, in `folder`."""
        assert self.process.stdin
        assert self.process.stdout
        out, err = folder / ".stdout", folder / ".stderr"
        request: dict[str, Any] = {
            "folder": str(folder), "arguments": arguments,
            "stdout": str(out), "stderr": str(err),
        }  # fmt: skip
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        said = [file.read_bytes().decode("utf-8", "replace") for file in (out, err)]
        out.unlink()
        err.unlink()
        return Done(code, *said)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()
