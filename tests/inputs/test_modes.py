"""`--train` and `--eval`: the mode of the model that a command runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api
from shapewright.cli.main import main

MODELS = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.eval()

    def forward(self, x):
        return self.norm(x) if self.training else self.norm(x).relu()


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(x) if self.training else self.fc(x.mean(1))


def double(x):
    return x * 2
"""

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(MODELS)
    return "nets.py"


def test_trace_runs_in_the_mode_that_is_asked_for(file: str, capfd: Printed) -> None:
    given = ["trace", "-i", "f32[2, 4]", f"{file}:Net"]
    for options, mode, relu in (
        ([], "evaluation", True),
        (["--eval"], "evaluation", True),
        (["--train"], "training", False),
    ):
        assert main([*given, *options, "--by", "op"]) == 0
        printed = capfd.readouterr().out
        assert mode in printed.splitlines()[0]
        assert ("Tensor.relu" in printed) is relu


def test_check_and_its_fixes_run_in_that_mode(file: str) -> None:
    target = f"{file}:Wide"
    for training, severity in ((True, "warning"), (False, "error")):
        report = api.check_target(target, "f32[6, 8]", training=training)
        (finding,) = report.findings
        assert finding.severity == severity


def test_each_definition_of_a_file_gets_the_mode(file: str) -> None:
    Path("two.py").write_text(MODELS.partition("def double")[0])
    outcome = api.trace_target("two.py", training=True)
    assert len(outcome.parts) == 2
    assert all(part.training for part in outcome.parts)


@pytest.mark.parametrize("command", ["trace", "check", "solve"])
def test_a_function_has_no_mode(command: str, file: str, capfd: Printed) -> None:
    assert main([command, "--eval", "-i", "f32[N, 3]", f"{file}:double"]) == 2
    assert "`double` is not a module, so it has no mode" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["trace", "check"])
def test_a_script_sets_modes_itself(command: str, file: str, capfd: Printed) -> None:
    Path("run.py").write_text(
        "import torch\nfrom nets import Net\nNet()(torch.rand(2, 4))"
    )
    assert main([command, "--eval", "run.py"]) == 2
    assert "a script sets modes itself" in capfd.readouterr().err
