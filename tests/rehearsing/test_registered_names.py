"""Buffers under a name that a module has already."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.fc = nn.Linear(size, 1)
        {registered}

    def forward(self, x):
        return self.fc(x + self.table)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(torch.randn(4, 8)), torch.randn(4, 1)).backward()
    optimizer.step()
"""
BUILT = """\
self.table = torch.zeros(size)
        self.table[::2] = 1.0
        self.register_buffer("table", self.table)"""
CALLED_ALIKE = """\
table = torch.zeros(size)
        self.table = table + 1
        self.register_buffer("table", self.table)"""
UNREAD = """\
self.table = None
        self.register_buffer("table", torch.zeros(size))"""
TWICE = """\
table = torch.zeros(size)
        self.table = table
        self.register_buffer("table", table, persistent=False)"""
RIGHT = """\
table = torch.zeros(size)
        self.register_buffer("table", table)
        self.table[0] = 1.0"""
MISTAKES = {
    "built as an attribute": (BUILT, "`table` for `self.table` until it is registered"),
    "beside a local name": (
        CALLED_ALIKE, "`table_` for `self.table` until it is registered",
    ),
    "announced": (UNREAD, "without `self.table = None`"),
    "set twice": (TWICE, "without `self.table = table`"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_buffer_is_registered_alone(tmp_path: Path, name: str) -> None:
    registered, fix = MISTAKES[name]
    finding = rehearsed(tmp_path, PROGRAM.format(registered=registered)).findings[-1]
    assert "`self.table` is set before `register_buffer`" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_a_buffer_that_is_written_later_is_right(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, PROGRAM.format(registered=RIGHT)).findings == ()
