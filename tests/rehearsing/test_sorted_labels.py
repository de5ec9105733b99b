"""Trainings that read one class after the other, and such that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import (
    ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, WeightedRandomSampler,
)

net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(90, 6)

class Rows(Dataset):
    def __init__(self, **held):
        vars(self).update(held)

    def __len__(self):
        return 90

    def __getitem__(self, index):
        if hasattr(self, "samples"):
            return self.samples[index]
        return x[index], self.labels[index]

def fit(loader):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), labels).backward()
        optimizer.step()
"""
SORTED = "np.repeat(np.arange(3), 30)"
WRONG = {
    "tensors": f"fit(DataLoader(TensorDataset(x, torch.tensor({SORTED})), 10))",
    "a list": "fit(DataLoader(Rows(labels=[0] * 30 + [1] * 30 + [2] * 30), 10))",
    "an array": f"fit(DataLoader(Rows(labels={SORTED}), batch_size=10, shuffle=False))",
    "pairs": "fit(DataLoader(Rows(samples=[(x[i], i // 30) for i in range(90)]), 10))",
    "a part": f"""\
data = TensorDataset(x, torch.tensor({SORTED}))
fit(DataLoader(Subset(data, range(0, 90, 2)), 5))
""",
    "a data set for each class": """\
parts = [TensorDataset(x[:30], torch.full((30,), k)) for k in range(3)]
fit(DataLoader(ConcatDataset(parts), 10))
""",
}
RIGHT = {
    "shuffled": f"fit(DataLoader(TensorDataset(x, torch.tensor({SORTED})), 10, True))",
    "mixed": "fit(DataLoader(TensorDataset(x, torch.arange(90) % 3), 10))",
    "whole": f"fit(DataLoader(TensorDataset(x, torch.tensor({SORTED})), 90))",
    "evaluated": f"""\
data = TensorDataset(x, torch.tensor({SORTED}))
fit(DataLoader(data, 10, shuffle=True))
with torch.no_grad():
    for inputs, labels in DataLoader(data, 10):
        (net.eval()(inputs).argmax(1) == labels).sum()
""",
    "weights": f"""\
data = TensorDataset(x, torch.tensor({SORTED}))
fit(DataLoader(data, 10, sampler=WeightedRandomSampler(torch.ones(90), 90)))
""",
    "a part in another order": f"""\
data = TensorDataset(x, torch.tensor({SORTED}))
fit(DataLoader(Subset(data, [i % 3 * 30 + i // 3 for i in range(90)]), 10))
""",
    "one class": "fit(DataLoader(Rows(labels=[0] * 90), 10))",
}


@pytest.mark.parametrize("name", WRONG)
def test_sorted_data_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + WRONG[name])
    assert [finding.code for finding in report.findings] == ["sorted-labels"]
    assert "3 classes" in report.findings[0].message
    assert "shuffle=True" in report.findings[0].fixes[0].message


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name])
    assert [finding.code for finding in report.findings] == []
