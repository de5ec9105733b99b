"""What is imported when: counts that keep the start fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LENET = f"{ROOT / 'examples' / 'lenet.py'}:Net"

LIST = """
import json, sys
modules = [name for name in sys.modules if name.count(".") < 2]
print(json.dumps(modules), file=sys.stderr)
"""


def imported(program: str) -> set[str]:
    """The modules that stand in `sys.modules` after `program`, in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", program + LIST], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def command(*arguments: str) -> str:
    return f"from shapewright.cli.main import main\nmain({list(arguments)})"


def test_import_shapewright_loads_no_torch() -> None:
    assert not {"torch", "numpy", "rich"} & imported("import shapewright")


def test_help_and_mistakes_load_no_torch() -> None:
    for arguments in (
        ["--help"], ["trace", "--help"], ["tarce"], ["--version"],
        [], ["help", "check"], ["completion", "bash"], ["model.py:Net"],
    ):  # fmt: skip
        loaded = imported(command(*arguments))
        assert not {"torch", "numpy", "rich"} & loaded, arguments


def test_a_bad_target_is_refused_before_torch_is_loaded() -> None:
    assert "torch" not in imported(command("trace", "no_such_file.py:Net"))


def test_a_trace_loads_neither_dynamo_nor_sympy() -> None:
    said = (
        "from shapewright.api import trace_target\n"  # a command has a process for it
    )
    loaded = imported(f"{said}trace_target({LENET!r}, 'f32[B=1024, 3, 32, 32]')")
    assert "torch" in loaded
    assert not {"torch._dynamo", "torch._inductor", "sympy"} & loaded


def test_a_drawing_loads_neither_dynamo_nor_sympy() -> None:
    for call in ("F.linear(f32[3, 6], f32[4, 6])", "F.dropout(f32[3])"):
        loaded = imported(command("explain", "--inside", call))
        assert "torch" in loaded
        assert not {"torch._dynamo", "torch._inductor", "sympy"} & loaded, call


TRAINING = """
import torch
import shapewright as sw

def train():
    net = torch.nn.Linear(6, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.rand(4, 6)).sum().backward()
    optimizer.step()

assert sw.trace(train).complete
"""


def test_a_step_of_an_optimizer_loads_no_dynamo() -> None:
    assert "torch._dynamo" not in imported(TRAINING)


RECOMPUTED = """
import torch
import torch.utils.checkpoint
import shapewright as sw

def train():
    net = torch.nn.Linear(6, 3)
    y = torch.utils.checkpoint.checkpoint(net, torch.rand(4, 6), use_reentrant=False)
    y.sum().backward()
    torch.func.grad(lambda w: (torch.rand(4, 6) @ w.T).sum())(net.weight.detach())

assert sw.trace(train).complete
"""


def test_a_checkpoint_and_a_function_of_gradients_load_no_dynamo() -> None:
    assert "torch._dynamo" not in imported(RECOMPUTED)


TRAINS = """
import torch, torch.nn as nn
import shapewright as sw

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 8)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(8, 9)

    def forward(self, ids):
        x = self.drop(self.table(ids) + torch.arange(8))
        return self.out(x + x.mean(1, keepdim=True))

def train(ids):
    net = Net()
    loss = sum(net(ids).flatten(0, 1).float().logsumexp(1).mean() for _ in range(2))
    loss.backward()
    return net.table.weight.grad

print(sw.trace(train, "i64[2, 5]").output)
import sys
assert not any("symbolic_shapes" in name for name in sys.modules)
"""


def test_a_backward_pass_loads_no_sympy() -> None:
    assert "sympy" not in imported(TRAINS)


SLICES = """
import inspect, sys, torch
import shapewright as sw

def train():
    x = torch.rand(4, 6, requires_grad=True)
    (x[:, 1:].sum() + x[0].sum() + torch.diagonal(x).sum()).backward()
    inspect.getmodule(inspect.currentframe())  # asks each module for its file
    return torch.rand(2, 3).bmm(torch.rand(2, 3, 4))  # refused by a meta kernel

trace = sw.trace(train)
assert "batch1 must be a 3D tensor" in str(trace.findings[0]), trace.findings
"""


def test_slices_and_a_refused_call_load_no_sympy() -> None:
    assert "sympy" not in imported(SLICES)


LIBRARY = """
import sys, torch
import shapewright as sw

def program(x):
    from torch._dynamo.utils import is_compile_supported  # as torchvision does
    assert "torch._dynamo.eval_frame" not in sys.modules
    program.taken = is_compile_supported
    return x + 1

print(sw.trace(program, "f32[2]").output)
assert not [name for name in sys.modules if name.startswith("torch._dynamo.")]
print(program.taken("cpu"), program.taken("mtia"))
from torch._dynamo.utils import is_compile_supported
assert (program.taken("cpu"), is_compile_supported("cpu")) == (True, True)
"""


@pytest.mark.long
def test_what_a_library_takes_from_the_compiler_waits_until_it_is_called() -> None:
    loaded = imported(LIBRARY)
    assert "torch._dynamo" in loaded


def test_symbolic_sizes_are_torchs_own_where_asked_for() -> None:
    said = """
import sys, torch
import shapewright as sw
def program(x):
    from torch.fx.experimental.symbolic_shapes import ShapeEnv, guard_or_false
    import torch.fx.experimental.symbolic_shapes as module
    assert ShapeEnv is module.ShapeEnv and guard_or_false(True)
    return x + 1
print(sw.trace(program, "f32[2]").output)
assert sys.modules["torch.fx.experimental.symbolic_shapes"].ShapeEnv
"""
    assert "sympy" in imported(said)
