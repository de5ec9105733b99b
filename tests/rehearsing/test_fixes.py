"""Fixes of a script that fails: tried, and right also where the error comes late."""

from __future__ import annotations

from pathlib import Path

from rehearsing.rehearsed import rehearsed

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(22, 6), torch.zeros(22, dtype=torch.long))
"""

TRAINING = """
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


def fixes(folder: Path, text: str) -> list[list[str]]:
    """The texts that each finding's fixes put in, all of them tried."""
    report = rehearsed(folder, HEAD + text)
    assert all(each.checked for finding in report.findings for each in finding.fixes)
    return [
        [", ".join(edit.text for edit in fix.edits) for fix in finding.fixes]
        for finding in report.findings
    ]


def test_an_error_after_training(tmp_path: Path) -> None:
    text = f"""
loader = DataLoader(data, 8)
model = nn.Linear(6, 3)
{TRAINING}
nn.Linear(4, 2)(model(torch.randn(5, 6)))
"""
    (found,) = fixes(tmp_path, text)
    assert found[0] == "3"


def test_a_change_that_mends_only_the_first_turn_is_no_fix(tmp_path: Path) -> None:
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(6, 4)
        self.last = None

    def forward(self, x):
        seen = x if self.last is None else torch.cat([x, self.last], dim=1)
        self.last = self.cell(seen).detach()
        return self.cell(x)

loader = DataLoader(data, 11)
model = Net()
{TRAINING}
"""
    assert fixes(tmp_path, text) == [[]]


def test_a_last_batch_of_one_sample_is_left_out(tmp_path: Path) -> None:
    for given, added in (("7", ", drop_last=True"), ("7, drop_last=False", "True")):
        text = f"""
loader = DataLoader(data, {given})
model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4))
{TRAINING}
"""
        (found,) = fixes(tmp_path, text)
        assert found[0] == added


def test_a_last_batch_that_a_kept_state_does_not_fit_is_left_out(
    tmp_path: Path,
) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(6, 4)
        self.last = torch.zeros(8, 4)

    def forward(self, x):
        return self.cell(x, self.last)

loader = DataLoader(
    data,
    batch_size=8,
)
model = Net()
"""
    (found,) = fixes(tmp_path, text + TRAINING)
    assert found[0] == " drop_last=True"


def test_a_view_takes_any_batch_and_none_is_left_out(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x):
        return self.linear(x).view(8, 2, 2).flatten(1)

loader = DataLoader(data, 8)
model = Net()
"""
    (found,) = fixes(tmp_path, text + TRAINING)
    assert found[0] == "-1"
    assert ", drop_last=True" not in found


def test_no_batch_is_left_out_where_all_fail_or_nothing_is_trained(
    tmp_path: Path,
) -> None:
    everywhere = f"loader = DataLoader(data, 8)\nmodel = nn.Linear(5, 3)\n{TRAINING}"
    validation = f"""
loader = DataLoader(data, 11)
model = nn.Linear(6, 3)
{TRAINING}
    for x, y in DataLoader(data, 8):
        model(x).reshape(8, 3).argmax(1)
"""
    for text in (everywhere, validation):
        (found,) = fixes(tmp_path, text)
        assert found
        assert not any("drop_last" in each for each in found)
