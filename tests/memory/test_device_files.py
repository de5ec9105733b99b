"""A GPU that a file describes: its capacity decides, its mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import nn

import shapewright as sw
from shapewright.cli.main import main

ENTRIES = {
    "name": '"NVIDIA B9"',
    "memory": "192",
    "capability": '"10.0"',
    "capacity": "[0.75, 1]",
    "context": "256",
    "workspace": "32",
    "bandwidth": "8e12",
    "flops": "{ bfloat16 = 2e15, tf32 = 1e15, float32 = 7e13 }",
}
SCRIPT = """\
import torch
from torch import nn

model = nn.Linear(64, 64).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.zeros({rows}, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def written(folder: Path, **changes: str | None) -> str:
    entries = {**ENTRIES, **changes}
    lines = [f"{name} = {value}" for name, value in entries.items() if value]
    path = folder / "b9.toml"
    path.write_text("\n".join(lines))
    return str(path)


def test_its_numbers_are_those_of_a_step(tmp_path: Path) -> None:
    memory = sw.memory(nn.Linear(64, 64), "f32[B=8, 64]", device=written(tmp_path))
    assert memory.device == "B9 192GB"
    assert memory.capacity == (3 << 28, 1 << 30)
    assert memory.total is not None
    forward = 2 * 32 << 20  # and backward, a thread each
    assert forward < memory.peak.kinds["workspaces"] < forward + (2 << 20)
    assert memory.total.context == (256 << 20, 256 << 20)
    assert memory.estimate is not None


def test_what_it_leaves_out_is_looked_up(tmp_path: Path) -> None:
    optional = ("capacity", "context", "workspace", "bandwidth", "flops")
    device = written(tmp_path, **dict.fromkeys(optional))
    memory = sw.memory(nn.Linear(64, 64), "f32[B=8, 64]", device=device)
    known = sw.memory(nn.Linear(64, 64), "f32[B=8, 64]", device="RTX 5090")
    assert memory.capacity == (192 * 10**9, 192 << 30)
    assert memory.total == known.total
    assert memory.estimate is None


def test_a_script_fills_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(rows=2_000_000))
    assert main(["rehearse", "--device", "b9.toml", "train.py"]) == 1
    assert "error[out-of-memory]" in capsys.readouterr().out
    script.write_text(SCRIPT.format(rows=2_000))
    assert main(["rehearse", "--device", "b9.toml", "train.py"]) == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": None}, "`name` is missing"),
        ({"memory": "80.5"}, "`memory` is missing: whole gigabytes"),
        ({"capability": "10.0"}, "`capability` is missing: the compute capability"),
        ({"capacity": "[2, 1]"}, "`capacity` is a number or two"),
        ({"context": '"300"'}, "`context` is a number or two"),
        ({"workspace": "[1, 2]"}, "`workspace` is one number"),
        ({"bandwidth": None}, "`bandwidth` is bytes in a second"),
        ({"flops": "1e15"}, "`flops` are operations in a second by dtype"),
        ({"flops": "{ half = 1e15 }"}, "`half` is none of these"),
        ({"band_width": "1"}, "`band_width` is not known; did you mean `bandwidth`?"),
        ({"name": '"'}, "is no TOML"),
    ],
)
def test_a_mistake_in_it_is_one_sentence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str | None],
    said: str,
) -> None:
    file = tmp_path / "net.py"
    file.write_text("from torch import nn\nnet = nn.Linear(4, 4)\n")
    device = written(tmp_path, **changes)
    command = ["memory", "-i", "f32[B=2, 4]", "--device", device, f"{file}:net"]
    assert main(command) == 2
    message = capsys.readouterr().err
    assert f"`{device}`" in message
    assert said in message
    assert message.count("\n") == 1


def test_a_missing_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "-i", "f32[2]", "--device", "none.toml", "x.py:net"]) == 2
    assert "`none.toml`: No such file" in capsys.readouterr().err
