"""Convolutions that their constructors refuse: `padding="same"` with a stride, a
depthwise one that is to have other channels; tables of texts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, cin, cout, kernel=3, stride=1):
        super().__init__()
        {body}

    def forward(self, x):
        return self.body(x)

blocks = Block(3, 8), Block(8, 12, stride=2)
model = nn.Sequential(*blocks, nn.Flatten(), nn.LazyLinear(2))
model(torch.randn(1, 3, 16, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(4, 3, 16, 16)).pow(2).mean().backward()
    optimizer.step()
"""
SAME = 'self.body = nn.Conv2d(cin, cout, {}, padding="same")'
DEPTHWISE = """\
self.body = nn.Sequential(
            nn.Conv2d(cin, cout, kernel, stride, 1, groups={groups}),
            nn.BatchNorm2d(cout),
            nn.ReLU(),
            nn.Conv2d(cout, cout, kernel_size=1),
            nn.BatchNorm2d(cout),
        )"""
MISTAKES = {
    "a stride that is a name": (SAME.format("3, stride=stride"), "`padding=1`"),
    "a kernel that is a name": (SAME.format("kernel, stride"), "`padding=kernel // 2`"),
    "a kernel with two sides": (SAME.format("(3, 5), stride"), "`padding=(1, 2)`"),
    "as many groups as channels": (
        DEPTHWISE.format(groups="cin"),
        "`cin` channels up to the pointwise convolution",
    ),
    "as many groups as outputs": (
        DEPTHWISE.format(groups="cout"),
        "`cin` channels up to the pointwise convolution",
    ),
}
RIGHT = {
    "a stride of 1": SAME.format("3"),
    "channels that the groups divide": (
        "self.body = nn.Conv2d(cin, cin * 4, kernel, stride, groups=cin)\n"
        "        self.body = nn.Sequential(self.body, nn.Conv2d(cin * 4, cout, 1))"
    ),
}
TABLE = """\
import pandas as pd
import torch

table = pd.DataFrame({"age": [1, 2, 3], "total": ["1.5", " ", "2"]})
"""
TABLES = {
    "in the call": "x = torch.tensor(table.values, dtype=torch.float32)",
    "a name": "rows = table.to_numpy()\nx = torch.tensor(rows)",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_refused_convolution_has_an_edit(tmp_path: Path, name: str) -> None:
    body, fix = MISTAKES[name]
    finding = rehearsed(tmp_path, PROGRAM.format(body=body)).findings[-1]
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_other_convolutions_are_right(tmp_path: Path, name: str) -> None:
    report = rehearsed(tmp_path, PROGRAM.format(body=RIGHT[name]))
    assert not [finding for finding in report.findings if finding.severity == "error"]


@pytest.mark.parametrize("name", TABLES)
def test_texts_in_a_table_become_numbers(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pandas")
    finding = rehearsed(tmp_path, TABLE + TABLES[name]).findings[-1]
    assert "is an array of objects" in finding.message
    fixes = [fix.message for fix in finding.fixes if fix.checked]
    assert '`.apply(pd.to_numeric, errors="coerce").fillna(0.0)`' in fixes
