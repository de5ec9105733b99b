"""Settings of normalization layers that mean something else in another library."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
from functools import partial
import torch
from torch import nn

data = torch.randn(64, 6, 12)
{build}
head = nn.Linear(8, 2)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1, momentum=0.9)
for epoch in range(3):
    net.train()
    for i in range(0, 64, 16):
        optimizer.zero_grad()
        loss = head(net(data[i:i + 16]).mean(-1)).pow(2).mean()
        loss.backward()
        {inside}
        optimizer.step()
    net.eval()
    with torch.no_grad():
        print(head(net(data[:16]).mean(-1)).shape)
"""


def write_script(build: str, inside: str = "pass") -> str:
    return SCRIPT.replace("{build}", build).replace("{inside}", inside)


def wrap(norm: str) -> str:
    return f"net = nn.Sequential(nn.Conv1d(6, 8, 3), {norm}, nn.ReLU())"


MODEL = """\
MOMENTUM = 0.9

class Block(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 3)
        self.norm = nn.BatchNorm1d(c_out, eps=1e-3, momentum=MOMENTUM)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))

net = nn.Sequential(Block(6, 16), Block(16, 8))
"""
MOMENTUMS = {
    "a keyword": (wrap("nn.BatchNorm1d(8, momentum=0.99)"), "`momentum=0.01`"),
    "a position": (wrap("nn.BatchNorm1d(8, 1e-3, 0.999)"), "`momentum=0.001`"),
    "a constant for two blocks": (MODEL, "`momentum=0.1`"),
    "a partial": (
        "norm = partial(nn.BatchNorm1d, momentum=0.95)\n" + wrap("norm(8)"),
        "`momentum=0.05`",
    ),
    "a dict of settings": (
        "bn = {'momentum': 0.99, 'eps': 1e-3}\n" + wrap("nn.BatchNorm1d(8, **bn)"),
        "`momentum=0.01`",
    ),
    "set in a loop": (
        wrap("nn.BatchNorm1d(8)") + "\nfor layer in net.modules():\n"
        "    if isinstance(layer, nn.BatchNorm1d):\n        layer.momentum = 0.99\n",
        "`momentum=0.01`",
    ),
}
EPS = {
    "a momentum of Keras": (wrap("nn.BatchNorm1d(8, 0.8)"), "`momentum=0.2`"),
    "a momentum of torch": (wrap("nn.BatchNorm1d(8, 0.1)"), "`momentum=0.1`"),
    "a rate of dropout": (
        wrap("nn.GroupNorm(2, 8, 0.1)"),
        "without `0.1`",
    ),
    "no averages": (wrap("nn.InstanceNorm1d(8, 0.9)"), "without `0.9`"),
}
RIGHT = {
    "defaults": (wrap("nn.BatchNorm1d(8)"), "pass"),
    "torch's": (wrap("nn.BatchNorm1d(8, 1e-3, 0.01)"), "pass"),
    "the last batch": (wrap("nn.BatchNorm1d(8, momentum=1.0)"), "pass"),
    "the mean of all": (wrap("nn.BatchNorm1d(8, momentum=None)"), "pass"),
    "without averages": (
        wrap("nn.BatchNorm1d(8, momentum=0.9, track_running_stats=False)"),
        "pass",
    ),
    "lowered in turns": (
        wrap("nn.BatchNorm1d(8, momentum=0.9)"),
        "net[1].momentum = max(0.01, 0.9 * 0.5 ** epoch)",
    ),
    "frozen": (
        wrap("nn.BatchNorm1d(8, momentum=0.99)")
        + "\nnorm = net[1].eval()\nnorm.train = lambda mode=True: norm",
        "pass",
    ),
    "eps on purpose": (wrap("nn.BatchNorm1d(8, eps=0.1)"), "pass"),
    "a named eps": ("EPS = 0.1\n" + wrap("nn.BatchNorm1d(8, EPS)"), "pass"),
    "other layers": (wrap("nn.GroupNorm(4, 8), nn.Dropout(0.9)"), "pass"),
}


@pytest.mark.parametrize("name", MOMENTUMS)
def test_a_weight_of_the_old_average_is_found(name: str, tmp_path: Path) -> None:
    build, fix = MOMENTUMS[name]
    (finding,) = rehearsed(tmp_path, write_script(build)).findings
    assert finding.code == "inverted-momentum"
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", EPS)
def test_a_momentum_at_the_place_of_eps_is_found(name: str, tmp_path: Path) -> None:
    build, fix = EPS[name]
    (finding,) = rehearsed(tmp_path, write_script(build)).findings
    assert finding.code == "large-eps"
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", RIGHT)
def test_settings_that_are_meant_are_right(name: str, tmp_path: Path) -> None:
    build, inside = RIGHT[name]
    report = rehearsed(tmp_path, write_script(build, inside))
    codes = {finding.code for finding in report.findings}
    assert not codes & {"inverted-momentum", "large-eps"}
