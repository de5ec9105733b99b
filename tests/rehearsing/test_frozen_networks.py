"""Networks that only measure or guide, left in training mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.drop = nn.Dropout(0.5)

    def extract(self, x):
        return self.drop(self.body(x))

    def forward(self, x):
        return self.extract(x)


student = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 8))
teacher = Features()
{setup}
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(64, 6)
for i in range(0, 64, 16):
    student.train()
    with torch.no_grad():
        wanted = teacher{method}(x[i : i + 16])
    loss = (student(x[i : i + 16]) - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
{evaluation}
with torch.no_grad():
    print(student(x).mean())
"""
PARTS = {"setup": "", "method": "", "after": "", "evaluation": "student.eval()"}


def list_modes(folder: Path, **parts: str) -> list[tuple[str, list[str]]]:
    """Return what is said of modes, with the tried fixes."""
    findings = rehearsed(folder, PROGRAM.format(**PARTS | parts)).findings
    return [
        (finding.message, [fix.message for fix in finding.fixes if fix.checked])
        for finding in findings
        if finding.code == "evaluated-in-training-mode" and "teacher" in finding.message
    ]


@pytest.mark.parametrize("method", ["", ".extract"])
def test_a_network_that_nothing_trains_is_to_be_set_to_evaluation(
    method: str, tmp_path: Path
) -> None:
    ((message, fixes),) = list_modes(tmp_path, method=method)
    assert "`teacher` is used in training mode and trained by nothing" in message
    assert "its dropout is active" in message
    assert "batch norm" in message
    assert fixes == ["`teacher.eval()`"]


@pytest.mark.parametrize(
    "parts",
    [
        {"setup": "teacher.eval()"},
        {"setup": "teacher.train()"},
        {"evaluation": ""},
        {"after": "teacher.body[0].weight.data.mul_(0.99)"},
        {"setup": "teacher.body[1].eval()\nteacher.drop.p = 0.0"},
    ],
    ids=["in evaluation", "in training", "no modes", "moving average", "layers"],
)
def test_networks_whose_mode_is_known_or_meant_are_quiet(
    parts: dict[str, str], tmp_path: Path
) -> None:
    assert not list_modes(tmp_path, **parts)
