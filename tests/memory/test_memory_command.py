"""`shapewright memory`: what it prints, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapewright.cli.main import main

MODEL = """\
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.up = nn.Linear(64, width)
        self.down = nn.Linear(width, 10)

    def forward(self, x):
        x = F.gelu(self.up(x))
        return self.down(x)
"""
SPEC = "f32[B=256, 64]"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_on_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "-i", SPEC, "model.py:Net(1024)", "-q"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "model.py:Net(1024)  f32[B=256, 64]"
    assert lines[1] == "a training step with AdamW on cpu"
    assert lines[3].startswith("peak         4.0 MiB of tensors, in backward, at ")
    assert "reserved" not in out
    assert "model.py:12" in out
    assert "over the step" in out


def test_a_page_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["memory", "-i", SPEC, "--device", "RTX 4090", "model.py:Net", "-q"]
    assert main([*arguments, "--largest-batch"]) == 0
    out = capsys.readouterr().out
    assert "reserved     22.0 MiB by torch's allocator" in out
    assert "fits         yes: 23.0 GiB or more of 23.6 GiB are left" in out
    assert "largest      B = " in out
    assert "not measured on this GPU" in out
    assert all(len(line) <= 100 for line in out.splitlines())


def test_evaluation_is_a_forward_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--eval", "-i", SPEC, "model.py:Net", "-q"]) == 0
    out = capsys.readouterr().out
    assert "forward under `no_grad`, in evaluation, on cpu" in out
    assert "gradients" not in out
    assert "backward" not in out


def test_fits_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "-i", SPEC, "--fits", "T4", "model.py:Net", "-q"]) == 0
    huge = "f32[B=90000000, 64]"
    assert main(["memory", "-i", huge, "--fits", "T4", "model.py:Net", "-q"]) == 1
    assert "fits         no: " in capsys.readouterr().out
    assert main(["memory", "-i", huge, "--device", "T4", "model.py:Net", "-q"]) == 0


def test_json(capsys: pytest.CaptureFixture[str], desk: Path) -> None:
    arguments = ["memory", "-i", SPEC, "--format", "json", "model.py:Net", "-q"]
    assert main(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["device"] == "cpu"
    assert record["reserved"] is None
    assert record["peak"]["activations"][0]["file"] == "model.py"
    assert main(["memory", "-i", SPEC, "-o", "memory.json", "model.py:Net", "-q"]) == 0
    written = json.loads((desk / "memory.json").read_text())
    assert written == record, (written["peak"], record["peak"])
    assert main(["memory", "-i", SPEC, "-o", "memory.json", "model.py:Net", "-q"]) == 0


def test_an_error_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "-i", "f32[2, 63]", "model.py:Net", "-q"]) == 1
    out = capsys.readouterr().out
    assert "error        " in out
    assert "model.py:12" in out
    assert "nothing after that is counted" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.py:Not"], "`model.py` does not define `Not`"),
        (["model.py"], "`memory` takes a model with its inputs: name one"),
        (["."], "`memory` takes one model, not a folder"),
        (["--optimizer", "adamv", "model.py:Net"], "no optimizer `adamv`"),
        (["--device", "H1000", "model.py:Net"], "no device `H1000` is known"),
        (["--largest-batch", "model.py:Net"], "needs a device with a known memory"),
        (["--device", "T4", "--fits", "L4", "model.py:Net"], "`--fits D` runs on D"),
    ],
)
def test_what_cannot_start(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "-q", "-i", SPEC, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_inputs_that_nobody_gave_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "-q", "model.py:Net"]) == 0
    assert "inputs: f32[" in capsys.readouterr().out
