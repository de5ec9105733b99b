"""Data sets that change what they store, and those that change a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def scale(x):
    x.mul_(0.5)
    return x


class Data(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(40, 4), torch.randint(2, (40,))
        self.pairs = [(torch.randn(4), k % 2) for k in range(40)]
        self.rows = np.random.randn(40, 4).astype("float32")
        self.count = torch.zeros(40)
        self.done = set()
        self.cache = torch.zeros(40, 4)

    def __len__(self):
        return 40

    def __getitem__(self, i):
{item}


net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in DataLoader(Data(), 8, shuffle=True, num_workers={workers}):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""
WRONG = {
    "methods": "x = self.x[i]\nx.sub_(0.1).div_(2)\nreturn x, self.y[i]",
    "an assignment": "x = self.x[i]\nx -= x.mean()\nreturn x, self.y[i]",
    "of a list": "x, y = self.pairs[i]\nx.add_(torch.randn(4))\nreturn x, y",
    "a part": "x = self.x[i]\nx[1:] *= 2\nreturn x, self.y[i]",
    "a function": "x = scale(self.x[i])\nreturn x.view(4), self.y[i]",
    "and out of place after it": "x = self.x[i]\nx.mul_(3)\nreturn x + 1, self.y[i]",
}
CUT = {
    "a drawn part": (
        "x = self.x[i]\nf = torch.randint(0, 3, (1,)).item()\nx[f:f + 1] = 0\n"
        "return x, self.y[i]",
        "`self.x[i].clone()`",
    ),
    "drawn by Python": (
        "x = self.x[i]\nx[random.randrange(4)] = 0.0\nreturn x, self.y[i]",
        "`self.x[i].clone()`",
    ),
    "filled": (
        "x = self.x[i]\nf = random.randint(0, 3)\nx[f:].zero_()\nreturn x, self.y[i]",
        "`self.x[i].clone()`",
    ),
    "of an array": (
        "row = self.rows[i]\nt = np.random.randint(0, 3)\nrow[t : t + 2] = 0\n"
        "return torch.from_numpy(row), self.y[i]",
        "`self.rows[i].copy()`",
    ),
}
RIGHT = {
    "a drawn part of a clone": "x = self.x[i].clone()\n"
    "x[random.randrange(4)] = 0.0\nreturn x, self.y[i]",
    "the same part": "x = self.x[i]\nx[:2] = 0\nreturn x, self.y[i]",
    "a part of a copy": "row = self.rows[i].copy()\nrow[random.randrange(4)] = 0\n"
    "return torch.from_numpy(row), self.y[i]",
    "a part of a sum": "x = self.x[i] + 0\nx[random.randrange(4)] = 0\n"
    "return x, self.y[i]",
    "out of place": "x = (self.x[i] - 0.1) / 2\nreturn x, self.y[i]",
    "a clone": "x = self.x[i].clone()\nx.sub_(0.1)\nreturn x, self.y[i]",
    "a new tensor": "x = self.x[i] * 2\nx += 1\nreturn x, self.y[i]",
    "indices": "x = self.x[[i]][0]\nx.mul_(2)\nreturn x, self.y[i]",
    "a counter": "self.count[i] += 1\nreturn self.x[i], self.y[i]",
    "once": "if i not in self.done:\n    self.x[i].sub_(0.1)\n    self.done.add(i)\n"
    "return self.x[i], self.y[i]",
    "a cache": "self.cache[i] = self.x[i] * 2\nreturn self.cache[i], self.y[i]",
}


def _codes(folder: Path, item: str, workers: int = 0) -> list[str]:
    lines = "\n".join(" " * 8 + line for line in item.split("\n"))
    report = rehearsed(folder, SCRIPT.format(item=lines, workers=workers))
    assert report.complete
    return [each.code for each in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_stored_data_that_is_changed_is_found(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, WRONG[name]) == ["item-written"]


@pytest.mark.parametrize("name", CUT)
def test_stored_data_of_which_parts_are_cut_out_are_found(
    name: str, tmp_path: Path
) -> None:
    item, fix = CUT[name]
    lines = "\n".join(" " * 8 + line for line in item.split("\n"))
    (finding,) = rehearsed(tmp_path, SCRIPT.format(item=lines, workers=0)).findings
    assert finding.code == "item-written"
    assert [one.message for one in finding.fixes if one.checked] == [fix]


@pytest.mark.parametrize("name", RIGHT)
def test_a_changed_copy_is_right(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, RIGHT[name]) == []


def test_a_worker_that_ends_with_the_epoch_changes_a_copy(tmp_path: Path) -> None:
    assert _codes(tmp_path, WRONG["methods"], workers=2) == []
