"""A real GPU, which a command does not use, and one that is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from shapewright.api import rehearse_script
from shapewright.engine import private

PROGRAM = """\
import torch
from torch import nn

net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = net(torch.randn(5, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
head = nn.Linear(4, 2)
head(net(torch.randn(5, 4))).mean().backward()
"""

WITH_DEVICE = """\
import torch
from torch.utils import backend_registration

backend_registration._setup_privateuseone_for_python_backend("fake")
torch.ones((), requires_grad=True).backward()  # autograd has a thread for it now

import shapewright as sw

print(sw.rehearse("program.py"))
"""


def test_cuda_counts_the_gpus_while_none_is_visible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    names = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    seen: list[list[str | None]] = []

    def count() -> int:
        seen.append([os.environ.get(name) for name in names])
        return 0

    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", count, raising=False)
    private.disable_gpus.__wrapped__()
    assert seen == [["", ""]]
    assert [os.environ.get(name) for name in names] == ["0,1", None]


def test_a_command_hides_them_before_the_program_runs(tmp_path: Path) -> None:
    """The program sees its environment as it is, and CUDA has been asked before."""
    (tmp_path / "program.py").write_text(
        "import os\n"
        "import torch\n"
        "print('visible:', os.environ.get('CUDA_VISIBLE_DEVICES'))\n"
        "print('asked:', getattr(torch._C, 'asked', []))\n"
    )
    (tmp_path / "asking.py").write_text(
        "import os, torch\n"
        "torch._C.asked = []\n"
        "def count():\n"
        "    torch._C.asked.append(os.environ['CUDA_VISIBLE_DEVICES'])\n"
        "    return 0\n"
        "torch._C._cuda_getDeviceCount = count\n"
        "from shapewright.cli.main import command\n"
        "import sys\n"
        "sys.argv = ['shapewright', 'rehearse', 'program.py']\n"
        "sys.exit(command())\n"
    )
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "1"}
    done = subprocess.run(
        [sys.executable, "asking.py"], cwd=tmp_path, env=env, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert "visible: 1" in done.stderr
    assert "asked: ['']" in done.stderr


@pytest.mark.skipif(
    not hasattr(torch._C, "_acc"), reason="this torch has no devices of Python's own"
)
@pytest.mark.skipif(sys.platform != "linux", reason="threads are listed by Linux")
@pytest.mark.long
def test_a_process_with_a_gpu_says_that_fixes_were_not_tried(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", WITH_DEVICE], cwd=tmp_path, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert "`Linear_1` needs 4 input features, got 3" in done.stdout, done.stderr
    assert "fixes could not be tried" in done.stdout
    assert "`shapewright rehearse program.py` tries them" in done.stdout


AS_ON_A_GPU = """\
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.GRU(4, 8, batch_first=True).to(device)
x = torch.randn(5, 7, 4).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scores = []
for step in range(3):
    out, h = net(x)
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {line}
"""
LENGTHS = "torch.tensor([7, 6, 5, 4, 3]).to(device)"
NEEDS_THE_CPU = {
    "numpy": ("scores.append(out.detach().numpy())", "`out.detach().cpu()`"),
    "an array": ("scores.append(np.array(out.detach()))", "`out.detach().cpu()`"),
    "a list": (
        "scores.append(loss.detach()); np.mean(scores)", "`loss.detach().item()`",
    ),
    "lengths": (
        f"pack_padded_sequence(x, {LENGTHS}, batch_first=True)", f"`{LENGTHS}.cpu()`",
    ),
}  # fmt: skip
ON_BOTH = {
    "a number": "scores.append(loss.item())",
    "moved": "scores.append(out.detach().cpu().numpy())",
    "a list of numbers": "scores.append(loss.item()); np.mean(scores)",
    "lengths": "pack_padded_sequence(x, torch.tensor([7, 6, 5, 4, 3]), True)",
}


@pytest.mark.parametrize("name", NEEDS_THE_CPU)
def test_what_a_gpu_cannot_do_is_found_without_one(tmp_path: Path, name: str) -> None:
    line, fix = NEEDS_THE_CPU[name]
    script = tmp_path / "train.py"
    script.write_text(AS_ON_A_GPU.format(line=line))
    (finding,) = rehearse_script(str(script)).findings
    assert finding.message.startswith("with a GPU: ")
    assert "on `cuda:0`" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_the_place_of_lengths_is_theirs_and_not_that_of_the_steps(
    tmp_path: Path,
) -> None:
    line = (
        "lengths = torch.tensor([7, 6, 5, 4, 3]).to(device)\n    steps = x.to(device)"
    )
    line += "\n    pack_padded_sequence(steps, lengths, batch_first=True)"
    script = tmp_path / "train.py"
    script.write_text(AS_ON_A_GPU.format(line=line))
    (finding,) = rehearse_script(str(script)).findings
    places = [r.message for r in finding.related if "Tensor.to`" in r.message]
    assert places == ["`lengths` (5,) is made by `Tensor.to`"]


@pytest.mark.parametrize("name", ON_BOTH)
def test_what_a_gpu_can_do_is_not_told(tmp_path: Path, name: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(AS_ON_A_GPU.format(line=ON_BOTH[name]))
    assert not rehearse_script(str(script)).findings
