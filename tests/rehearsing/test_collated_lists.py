"""Lists of numbers in the items of a data set, which collating transposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Rows(Dataset):
    def __init__(self):
        self.rows = torch.randn(24, 8).tolist()
        self.labels = torch.randint(0, 3, (24,)).tolist()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        {item}


data = Rows()
{split}
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for batch in DataLoader(data, batch_size=6):
        {take}
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
"""
PLAIN = {
    "item": "return self.rows[index], self.labels[index]",
    "split": "",
    "take": "x, y = torch.stack(batch[0]).float(), batch[1]",
}
WRONG = {
    "stacked": ({}, "`torch.stack(batch[0], dim=1)`"),
    "stacked row by row": (
        {"take": "x, y = torch.stack([row for row in batch[0]]).float(), batch[1]"},
        "`torch.tensor(self.rows[index])`",
    ),
    "in a dict, by a name": (
        {"item": "row = self.rows[index]; return {'x': row, 'y': self.labels[index]}",
         "take": "x, y = torch.stack(list(batch['x'])).float(), batch['y']"},
        "`torch.tensor(self.rows[index])`",
    ),
    "written out": (
        {"item": "row = self.rows[index]; return [a + 1 for a in row], 0"},
        "`torch.stack(batch[0], dim=1)`",
    ),
    "of a subset": (
        {"split": "data, rest = random_split(data, [18, 6])"},
        "`torch.stack(batch[0], dim=1)`",
    ),
    "used as a tensor": (
        {"take": "x, y = batch[0].to('cpu'), batch[1]"},
        "`torch.tensor(self.rows[index])`",
    ),
}  # fmt: skip
RIGHT = {
    "stacked along dim 1":
        {"take": "x, y = torch.stack(batch[0], dim=1).float(), batch[1]"},
    "turned": {"take": "x, y = torch.stack(batch[0]).t().float(), batch[1]"},
    "a tensor": {
        "item": "return torch.tensor(self.rows[index]), self.labels[index]",
        "take": "x, y = batch",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_the_list_is_the_cause(name: str, tmp_path: Path) -> None:
    change, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **change}))
    (finding,) = report.findings
    assert finding.code == "collated-list"
    assert "`default_collate` transposes" in finding.message
    assert finding.fixes[0].message == edit
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(**{**PLAIN, **RIGHT[name]}))
    assert [each.message for each in report.findings] == []


def test_another_error_has_its_own_cause(tmp_path: Path) -> None:
    text = SCRIPT.format(**{**PLAIN, **RIGHT["stacked along dim 1"]})
    text = text.replace("nn.Linear(16, 3)", "nn.Linear(12, 3)")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "inner-dim-mismatch"
