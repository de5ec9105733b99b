"""A process is after a trace what it was before, whatever the program sets in it."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import shapewright as sw
from capture.left import nothing_left


def draws(x: torch.Tensor) -> Any:
    torch.manual_seed(3)
    random.seed(4)
    numpy.random.seed(5)
    F.dropout(torch.randn(3) + x, 0.5)
    return torch.rand(2), random.random(), numpy.random.rand()


@pytest.fixture(autouse=True)
def flags_may_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own test helpers, which other tests import, forbid it in a process."""
    name = "__allow_nonbracketed_mutation_flag"
    monkeypatch.setitem(torch.backends.flags_frozen.__globals__, name, True)


def test_a_block_of_autocast_that_is_not_left_ends_with_the_run() -> None:
    """Else no later block of the process would drop its casts."""
    sw.trace(enters, "f32[2]")
    assert torch.autocast_increment_nesting() == 1  # type: ignore[no-untyped-call]
    assert torch.autocast_decrement_nesting() == 0  # type: ignore[no-untyped-call]


def defaults(x: torch.Tensor) -> torch.Tensor:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("cuda")
    torch.set_grad_enabled(False)
    torch.set_float32_matmul_precision("medium")
    torch.set_printoptions(precision=2)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = True
    torch.autograd.set_detect_anomaly(True)
    made = torch.zeros(3)
    assert made.dtype == torch.float64
    assert str(made.device) == "cuda:0"
    return made


def enters(x: torch.Tensor) -> torch.Tensor:
    """Contexts that are entered and not left."""
    torch.device("cuda").__enter__()
    torch.no_grad().__enter__()
    torch.autocast("cpu", torch.bfloat16).__enter__()
    torch.overrides.BaseTorchFunctionMode().__enter__()
    return torch.zeros(3)


def patches(x: torch.Tensor) -> torch.Tensor:
    F.relu = lambda value: value * 2  # type: ignore[assignment]
    torch.nn.functional.fancy = 1  # type: ignore[attr-defined]
    torch.Tensor.shout = lambda self: self  # type: ignore[attr-defined]
    torch.Tensor.relu = torch.Tensor.shout  # type: ignore[attr-defined, method-assign]
    nn.Linear.forward_twice = 1  # type: ignore[assignment]
    del nn.Linear.forward_twice
    nn.Module.extra_state = 1  # type: ignore[assignment]
    torch.compile = None  # type: ignore[assignment]
    torch.sigmoid = torch.tanh
    nn.modules.module.register_module_forward_hook(lambda *given: None)
    return F.relu(x)


def moves(x: torch.Tensor) -> torch.Tensor:
    os.chdir(tempfile.gettempdir())
    sys.path.insert(0, "/nowhere")
    sys.argv.append("--more")
    os.environ["SHAPES"] = "1"
    os.environ.pop("HOME", None)
    os.umask(0o077)
    return x + 1


def redirects(x: torch.Tensor) -> torch.Tensor:
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    sys.excepthook = lambda *given: None
    threading.excepthook = lambda *given: None
    warnings.filterwarnings("error")
    warnings.showwarning = lambda *given, **named: None
    logging.basicConfig(level=logging.DEBUG, force=True)
    logging.disable(logging.CRITICAL)
    return x + 1


def interrupts(x: torch.Tensor) -> torch.Tensor:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *given: None)
    signal.signal(signal.SIGALRM, lambda *given: None)
    signal.alarm(1000)
    sys.setrecursionlimit(5000)
    sys.setswitchinterval(0.5)
    sys.settrace(lambda *given: None)
    gc.disable()
    gc.set_threshold(10)
    return x + 1


def loads_dynamo(x: torch.Tensor) -> torch.Tensor:
    import torch._dynamo

    torch._dynamo.config.suppress_errors  # noqa: B018
    torch._dynamo.config.suppress_errors = False
    torch._dynamo.graph_break()
    return F.gelu(x)


PROGRAMS = [
    draws, defaults, enters, patches, moves, redirects, interrupts, loads_dynamo,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("ends", ["well", "badly", "interrupted", "with gradients"])
def test_the_process_is_as_it_was(
    program: Callable[[torch.Tensor], Any], ends: str
) -> None:
    def run(x: torch.Tensor) -> Any:
        out = program(x)
        if ends == "badly":
            raise ValueError("the program's own")
        if ends == "interrupted":
            raise KeyboardInterrupt
        if ends == "with gradients":
            with torch.enable_grad():
                torch.ones(2, requires_grad=True).sum().backward()
        return out

    x = torch.randn(3)
    with nothing_left():
        if ends == "interrupted":
            with pytest.raises(KeyboardInterrupt):
                sw.trace(run, x)
            return
        trace = sw.trace(run, x)
    assert trace.complete == (ends != "badly"), trace.findings


def test_what_the_program_patches_holds_in_its_run() -> None:
    trace = sw.trace(patches, "f32[3]")
    assert [op.name for op in trace.ops] == ["*"]
    assert any("functional.relu" in note for note in trace.notes)


@pytest.mark.parametrize("inside", [True, False])
def test_a_default_device_is_claimed(inside: bool) -> None:
    def run(x: torch.Tensor) -> Any:
        with torch.device("cuda:1"):
            made = torch.zeros(3)
            layer = nn.Linear(3, 3)
        after = torch.zeros(3)
        return made, layer.weight, after, torch.get_default_device().type

    if inside:
        out = sw.trace(run, "f32[3]").output
        assert [fact.device for fact in out[:3]] == ["cuda:1", "cuda:1", "cpu"]
        assert out[3] == "cpu"
        return
    with torch.device("cuda"), nothing_left():
        out = sw.trace(run, torch.zeros(3, device="cpu")).output
    assert [fact.device for fact in out[:3]] == ["cuda:1", "cuda:1", "cuda:0"]


@pytest.mark.parametrize(
    "context",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
        torch.overrides.BaseTorchFunctionMode,
        lambda: warnings.catch_warnings(record=True),
    ],
)
def test_a_trace_inside_a_context(context: Callable[[], Any]) -> None:
    linear, x = nn.Linear(3, 4), torch.randn(2, 3)
    with context(), nothing_left(linear):
        assert sw.trace(linear, x).output.shape == (2, 4)


AFTERWARDS = """
import sys
import torch
import shapewright as sw

linear = torch.nn.Linear(3, 4)
trace = sw.trace(lambda x: torch.nn.functional.gelu(linear(x)), "f32[2, 3]")
assert trace.complete, trace.findings
assert "torch._dynamo" not in sys.modules
assert not hasattr(torch, "_dynamo") or torch._dynamo.__file__

import torch._dynamo

assert torch._dynamo.__file__
fast = torch.compile(linear, backend="eager")
assert fast(torch.ones(2, 3)).shape == (2, 4)
assert sw.trace(fast, "f32[5, 3]").output.shape == (5, 4)
assert torch.allclose(fast(torch.ones(2, 3)), linear(torch.ones(2, 3)))
"""


def test_the_compiler_works_afterwards() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(AFTERWARDS)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_a_program_that_is_stopped_leaves_nothing() -> None:
    linear = nn.BatchNorm1d(3)

    def endless(x: torch.Tensor) -> None:
        linear.hidden = linear(x)
        torch.set_default_dtype(torch.float64)
        while True:
            pass

    x = torch.randn(2, 3)
    with nothing_left(linear):
        trace = sw.options(timeout=1).trace(endless, x)
    assert not trace.complete
    assert trace.findings[-1].code == "timeout"
    assert [op.name for op in trace.ops][-1] == "F.batch_norm"
