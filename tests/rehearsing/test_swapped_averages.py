"""Averages of a model's weights: their two factors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
from torch import nn

net = nn.Linear(6, 2)
average = copy.deepcopy(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
decay, tau = 0.995, 0.005
for step in range(4):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(torch.randn(8, 6)), torch.zeros(8, 2)).backward()
    optimizer.step()
    with torch.no_grad():
        for mean, weight in zip(average.parameters(), net.parameters()):
            {update}
"""
WRONG = {
    "in place": "mean.mul_(1 - decay).add_(weight, alpha=decay)",
    "of data": "mean.data.mul_(tau).add_(weight.data, alpha=1 - tau)",
    "in two statements": "mean.mul_(1 - decay); mean.add_(weight, alpha=decay)",
    "lerp": "mean.lerp_(weight, decay)",
}
RIGHT = {
    "in place": "mean.mul_(decay).add_(weight, alpha=1 - decay)",
    "soft": "mean.data.mul_(1 - tau).add_(weight.data, alpha=tau)",
    "lerp": "mean.lerp_(weight, 1 - decay)",
    "copied": "mean.lerp_(weight, 1.0)",
    "halves": "mean.mul_(0.5).add_(weight, alpha=0.5)",
    "gradients": "mean.mul_(0.1).add_(weight.grad, alpha=0.9)",
}


@pytest.mark.parametrize("name", WRONG)
def test_exchanged_factors_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(update=WRONG[name]))
    (finding,) = (f for f in report.findings if f.code == "swapped-average")
    assert "keeps 0.5 % of itself" in finding.message
    assert finding.line == 15
    if name == "in place":
        assert [edit.text for edit in finding.fixes[0].edits] == ["decay", "1 - decay"]
        assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_other_averages_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(update=RIGHT[name]))
    assert [f for f in report.findings if f.code == "swapped-average"] == []
