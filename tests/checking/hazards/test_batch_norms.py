"""Batch norms that a program writes itself: a mean for each channel, or one of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class {name}(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones({shape}))
        self.beta = nn.Parameter(torch.zeros({shape}))

    def forward(self, x):
        {mean} = {of_mean}
        var = {of_var}
        y = (x - {mean}) {quotient}
        return {scaled}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.norm = {name}(6)
        self.head = nn.Linear(6, 4)

    def forward(self, x):
        x = self.conv(x)
        {around}
        return self.head(x)


data = TensorDataset(torch.rand(64, 3, 8, 8), torch.randint(0, 4, (64,)))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=16):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
MAPS = {
    "name": "BatchNorm", "shape": "1, channels, 1, 1", "mean": "mean",
    "of_mean": "x.mean()", "of_var": "x.var(unbiased=False)",
    "quotient": "/ torch.sqrt(var + 1e-5)", "scaled": "y * self.gamma + self.beta",
    "around": "x = self.norm(x).mean(dim=(2, 3))",
}  # fmt: skip
ROWS = {"around": "x = self.norm(x.mean(dim=(2, 3)))", "shape": "channels"}
CHANNELS = "`dim=(0, 2, 3), keepdim=True` for the mean and the spread"
WRONG = {
    "a class": ({}, CHANNELS),
    "the name of the mean": ({"name": "Normalize", "mean": "batch_mean"}, CHANNELS),
    "squares": ({"of_var": "((x - mean) ** 2).mean()"}, CHANNELS),
    "factors of samples": (
        {"scaled": "y * self.gamma.repeat(len(x), 1, 1, 1).expand_as(y) + self.beta"},
        CHANNELS,
    ),
    "channels last": (
        {"shape": "channels", "around": "x = self.norm(x.permute(0, 2, 3, 1))"
                                        ".mean(dim=(1, 2))"},
        "`dim=(0, 1, 2), keepdim=True` for the mean and the spread",
    ),
    "rows": (ROWS, "`dim=0, keepdim=True` for the mean and the spread"),
}  # fmt: skip
OWN = {"of_mean": "x.mean(dim=(0, 2, 3), keepdim=True)",
       "of_var": "x.var(dim=(0, 2, 3), unbiased=False, keepdim=True)"}  # fmt: skip
ONE_SAMPLE = {
    key: value.replace("(0, 2, 3)", "(1, 2, 3)") for key, value in OWN.items()
}
RIGHT = {
    "channels": OWN,
    "a layer norm": ONE_SAMPLE | {"name": "LayerNorm"},
    "one factor": {"shape": "1"},
    "a factor for each element": {"shape": "1, channels, 8, 8"},
    "another kind": {"name": "GlobalNorm"},
    "rows": ROWS | {"of_mean": "x.mean(0)", "of_var": "x.var(0, unbiased=False)"},
}


def list_findings(folder: Path, code: str, changed: dict[str, str]) -> list[Finding]:
    """Return what is said of a norm, of one code."""
    report = rehearsed(folder, SCRIPT.format(**MAPS | changed))
    assert report.complete, report
    return [found for found in report.findings if found.code == code]


@pytest.mark.parametrize("name", WRONG)
def test_a_mean_of_all_channels_is_found(name: str, tmp_path: Path) -> None:
    changed, first = WRONG[name]
    (finding,) = list_findings(tmp_path, "wrong-axis", changed)
    assert "factor for each of its 6 channels" in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


@pytest.mark.parametrize("name", RIGHT)
def test_other_norms_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_findings(tmp_path, "wrong-axis", RIGHT[name]) == []


def test_both_dims_are_offered_where_no_name_decides(tmp_path: Path) -> None:
    (finding,) = list_findings(tmp_path, "batch-dependence", {"name": "Normalize"})
    assert [fix.message for fix in finding.fixes] == [
        "`dim=(1, 2, 3), keepdim=True` for each mean and deviation",
        "`dim=(0, 2, 3), keepdim=True` for each mean and deviation",
    ]
