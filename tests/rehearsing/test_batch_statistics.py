"""Samples that are standardized by the mean and deviation of their whole batch."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

pictures = torch.rand(48, 1, 8, 8)
{before}
data = TensorDataset(pictures, torch.rand(48, 1, 8, 8))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x):
{forward}
        return self.conv(x)


def measure(y, target):
{metric}


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, target in DataLoader(data, batch_size=16):
    y = model(x)
    loss = F.mse_loss(y, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    score = measure(y.detach(), target)
"""
OWN = "return ((y - target) ** 2).mean(dim=(1, 2, 3))"
ALL = "y = (y - y.mean()) / y.std()\n" + OWN
STEPS = "mean, std = y.mean(), y.std() + 1e-6\ny = (y - mean) / std\n" + OWN
FUNCTIONS = "y = (y - torch.mean(y)) / (torch.std(y) + 1e-8)\n" + OWN
FORWARD = "x = (x - x.mean()) / (x.std() + 1e-5)"
WRONG = {
    "a metric": ("", "pass", ALL),
    "steps": ("", "pass", STEPS),
    "functions": ("", "pass", FUNCTIONS),
    "forward": ("", FORWARD, OWN),
}
EACH = ALL.replace("()", "((1, 2, 3), keepdim=True)")
RIGHT = {
    "each": ("", "pass", EACH),
    "the data set": ("pictures = (pictures - pictures.mean()) / pictures.std()",
                     "pass", OWN),
    "one number": ("", "pass", ALL.replace(OWN, "return ((y - target) ** 2).mean()")),
    "errors": ("", "pass", "error = y - target\nreturn error.mean() / error.std()"),
    "a batch norm": ("", "x = (x - x.mean((0, 2, 3), keepdim=True))"
                         " / x.std((0, 2, 3), keepdim=True)", OWN),
}  # fmt: skip


def write_script(before: str, forward: str, metric: str) -> str:
    parts = {"forward": indent(forward, "        "), "metric": indent(metric, "    ")}
    return SCRIPT.format(before=before, **parts)


@pytest.mark.parametrize("name", WRONG)
def test_statistics_of_a_batch_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*WRONG[name]))
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "batch-dependence"]
    assert "are standardized by the mean" in finding.message
    (fix,) = finding.fixes
    assert fix.message.startswith("`dim=(1, 2, 3), keepdim=True`")
    assert fix.checked
    assert len(fix.edits) == 2


@pytest.mark.parametrize("name", RIGHT)
def test_other_statistics_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*RIGHT[name]))
    assert report.complete, report
    assert "batch-dependence" not in [f.code for f in report.findings]
