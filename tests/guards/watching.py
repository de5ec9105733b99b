"""Programs run twice, plainly and with their sizes watched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

import shapewright as sw
from guards.guards_of_a_run import guards_of
from shapewright.engine.tracked_sizes.comparisons import Watching
from shapewright.record.guards import Guard, Guards
from shapewright.runtime.run import record_run
from shapewright.runtime.run_record import RunRequest, RunResult


def watched(
    program: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[sw.Trace, Guards]:
    """The plain trace and what the watched run told of it."""
    plain = record_run(program, args, kwargs, RunRequest()).trace

    def again(told: Watching) -> RunResult:
        return record_run(program, args, kwargs, RunRequest(guards=told))

    return plain, guards_of(again, plain)


def program(folder: Path, body: str) -> Callable[..., Any]:
    """The function `run(x, y)` with this body, in a file of its own."""
    lines = [f"    {line}" for line in body.strip("\n").split("\n")]
    head = "import math, json, copy\nfrom math import ceil, log2 as log\n"
    head += "import numpy\nimport torch\nimport torch.nn.functional as F\n\n\n"
    head += "def run(x, y=None):\n"
    file = folder / "program.py"
    file.write_text(head + "\n".join(lines) + "\n    return x\n", "utf-8")
    space: dict[str, Any] = {}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), space)
    return space["run"]  # type: ignore[no-any-return]


def told(folder: Path, body: str, *tensors: Tensor) -> Guards:
    """What a program with this body compares; it does the same watched and not."""
    trace, guards = watched(program(folder, body), *tensors)
    assert trace.complete, trace.findings
    assert guards.reason is None, guards.reason
    return guards


def shown(guard: Guard, trace: sw.Trace) -> str:
    """A guard as text, the arguments of the program by name."""
    text = f"{guard.left} {guard.operator} {guard.right}: {str(guard.outcome).lower()}"
    for name, fact in zip("xy", trace.calls[0].inputs[0], strict=False):
        text = re.sub(rf"\bt{fact.tensor}\.shape\[(\d)\]", rf"{name}\1", text)
    return text


def compares(folder: Path, body: str, *tensors: Tensor) -> list[str]:
    """The guards of a program, in short."""
    trace, guards = watched(program(folder, body), *tensors)
    assert trace.complete, trace.findings
    assert guards.reason is None, guards.reason
    return [shown(guard, trace) for guard in guards.guards]
