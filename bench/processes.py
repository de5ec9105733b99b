"""Measurements that need a process of their own: the command line, memory."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.timing import Spread, spread

ROOT = Path(__file__).resolve().parents[1]
SPEC = "f32[B=1024, 3, 32, 32]"
COMMAND = ["-m", "shapewright", "trace", "-i", SPEC, "examples/lenet.py:Net"]
IMPORT = ["-c", "import torch"]
FORBIDDEN = ("torch._dynamo", "sympy")


def python(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run this Python from the root of the checkout."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip


def command_line(rounds: int) -> dict[str, Spread]:
    """Seconds of the whole command and of importing torch, and their ratio."""
    draw = random.Random(1)
    seconds: dict[str, list[float]] = {"command": [], "import": []}
    jobs = [("command", COMMAND), ("import", IMPORT)]
    for number in range(rounds + 1):
        draw.shuffle(jobs)
        for name, arguments in jobs:
            began = time.perf_counter()
            python(arguments)
            if number:
                seconds[name].append(time.perf_counter() - began)
    pairs = zip(seconds["command"], seconds["import"], strict=True)
    ratio = spread([one / other for one, other in pairs])
    return {"ratio": ratio, **{name: spread(v) for name, v in seconds.items()}}


def imported() -> list[str]:
    """Which of the modules that must stay out the command imports."""
    code = (
        "import sys, runpy\n"
        f"sys.argv = ['shapewright', *{COMMAND[2:]!r}]\n"
        "try: runpy.run_module('shapewright', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print([n for n in {FORBIDDEN!r} if n in sys.modules], file=sys.stderr)"
    )
    found: list[str] = json.loads(
        python(["-c", code]).stderr.splitlines()[-1].replace("'", '"')
    )
    return found


def child(function: str, **arguments: Any) -> Any:
    """Call a function of `bench.large` in a fresh process; its result, by JSON."""
    code = (
        "import json, sys\nfrom bench import large\n"
        f"made = large.{function}(**json.loads(sys.argv[1]))\n"
        "print(json.dumps(made))"
    )
    done = python(["-c", code, json.dumps(arguments)])
    return json.loads(done.stdout.splitlines()[-1])
