"""Containers of layers that are called as they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.nn import Sequential

class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x, adj):
        return torch.relu(self.fc(adj @ x))

class Net(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        layers = [nn.Linear(6, 6) for _ in range(depth)]
        {built}
        self.head = nn.Linear(6, 3)

    def forward(self, x, adj):
        {called}
        return self.head(x).mean(1)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    adj = torch.rand(4, 5, 5)
    out = net(torch.randn(4, 5, 6), adj)
    loss = nn.functional.cross_entropy(out, torch.arange(4) % 3)
    loss.backward()
    optimizer.step()
"""
LISTS = {
    "a name": ("self.body = nn.ModuleList(layers)", "`nn.Sequential(*layers)`"),
    "a list": (
        "self.body = nn.ModuleList([nn.Linear(6, 6), nn.ReLU()])",
        "`nn.Sequential` of the layers",
    ),
    "a comprehension": (
        "self.body = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])",
        "`nn.Sequential(*[nn.Linear(6, 6) for _ in range(3)])`",
    ),
    "filled by a loop": (
        "self.body = nn.ModuleList()\n"
        "        for layer in layers:\n"
        "            self.body.append(layer)",
        "`nn.Sequential`",
    ),
}
TWO = "self.mixes = nn.Sequential(Mix(6), Mix(6))"
STARRED = "self.mixes = nn.Sequential(*[Mix(6) for _ in range(depth)])"
AS_LIST = "self.mixes = nn.ModuleList([Mix(6), Mix(6)])"
LOOPS = {
    "the same name": (TWO, "x = self.mixes(x, adj)", "`nn.ModuleList` and"),
    "another name": (
        STARRED, "h = self.mixes(x, adj)\n        x = h", "`nn.ModuleList`",
    ),
    "a keyword": (TWO, "x = self.mixes(x, adj=adj)", "`nn.ModuleList` and"),
    "inside an expression": (TWO, "x = self.mixes(x, adj) + x", "`nn.ModuleList`"),
    "a list of modules": (
        AS_LIST, "x = self.mixes(x, adj)", "`for mix in self.mixes:`",
    ),
    "a local name": (
        TWO, "mixes = self.mixes\n        x = self.mixes(x, adj)", "`nn.ModuleList`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_called_becomes_a_sequential(tmp_path: Path, name: str) -> None:
    built, fix = LISTS[name]
    text = PROGRAM.format(built=built, called="x = self.body(x)")
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "`self.body` is an `nn.ModuleList`" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", LOOPS)
def test_layers_with_two_inputs_are_looped_over(tmp_path: Path, name: str) -> None:
    built, called, fix = LOOPS[name]
    finding = rehearsed(tmp_path, PROGRAM.format(built=built, called=called)).findings[
        -1
    ]
    assert "`self.mixes` is an `nn." in finding.message
    assert finding.fixes[0].message.startswith(fix)
    assert finding.fixes[0].checked


def test_a_list_that_is_looped_over_is_right(tmp_path: Path) -> None:
    called = "for layer in self.body:\n            x = layer(x)"
    built = "self.body = nn.ModuleList(layers)"
    report = rehearsed(tmp_path, PROGRAM.format(built=built, called=called))
    assert report.findings == ()
