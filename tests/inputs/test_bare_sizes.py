"""Sizes without a dtype are a tensor, where nothing takes them as integers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from shapewright import api
from shapewright.cli.main import main

MODELS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 5)
        self.fc = nn.Linear(6 * 24 * 24, 10)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class Typed(Net):
    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return super().forward(x) * scale


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(100, 8)

    def forward(self, tokens):
        rows, columns = tokens.shape
        return self.tok(tokens)


def zeros(size):
    return torch.zeros(size)


def table(rows, columns):
    return torch.zeros(rows, columns)


def anywhere(x):
    return torch.add(x, 1)


def stated(shape: tuple[int, ...]):
    return torch.zeros(*shape)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("nets.py").write_text(MODELS)
    return "nets.py"


@pytest.mark.parametrize("spec", ["(2, 1, 28, 28)", "2,1,28,28", "2, 1, 28, 28"])
@pytest.mark.parametrize("name", ["Net", "Typed"])
def test_sizes_are_a_float_tensor(file: str, name: str, spec: str) -> None:
    trace = api.trace_target(f"{file}:{name}", spec).trace
    assert trace.output.shape == (2, 10)
    (assumption,) = trace.assumptions
    assert assumption.message == (
        "inputs: f32[2, 1, 28, 28] (sizes without a dtype are a float32 tensor)"
    )


def test_the_table_says_how_sizes_were_read(
    file: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "-i", "2,1,28,28", f"{file}:Net"]) == 0
    assert "f32[2, 1, 28, 28] (sizes without a dtype" in capfd.readouterr().out
    assert main(["check", "-i", "2,1,28,28", f"{file}:Net"]) == 0
    assert "f32[2, 1, 28, 28] (sizes without a dtype" in capfd.readouterr().out


@pytest.mark.long
def test_what_does_not_fit_is_a_finding_about_the_tensor(file: str) -> None:
    report = api.check_target(f"{file}:Net", "(1, 3, 224, 224)")
    assert [finding.code for finding in report.findings] == [
        "channel-mismatch",
        "inner-dim-mismatch",
    ]
    (finding,) = api.check_target(f"{file}:Tokens", "2, 16").findings
    assert finding.code == "dtype-mismatch"


@pytest.mark.parametrize(
    ("name", "spec", "shape"),
    [
        ("zeros", "(2, 3)", (2, 3)),
        ("zeros", "4", (4,)),
        ("table", "2, 3", (2, 3)),
        ("stated", "(2, 3)", (2, 3)),
    ],
)
def test_integers_stay_integers_where_they_are_taken(
    file: str, name: str, spec: str, shape: Sequence[int]
) -> None:
    trace = api.trace_target(f"{file}:{name}", spec).trace
    assert trace.output.shape == shape
    assert not trace.assumptions


def test_solve_gives_letters_to_such_sizes(file: str) -> None:
    solution = api.solve_target(f"{file}:Net", "(2, 1, 28, 28)")
    assert solution.takes(B=3, H=28, W=28)
    assert not solution.takes(B=3, H=29, W=28)
