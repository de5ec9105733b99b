"""Names beside results in another order, classes numbered by a set, and predictions in
other units than their targets.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

names = ["cat", "dog", "bird", "dog"] * 8

class Pets(Dataset):
    def __init__(self, names):
        self.names = names
        self.classes = {classes}(set(names))
        self.numbers = {{name: i for i, name in enumerate(self.classes)}}
    def __len__(self):
        return len(self.names)
    def __getitem__(self, i):
        return torch.randn(6), self.numbers[self.names[i]]

loader = DataLoader(Pets(names), batch_size=8, shuffle=True)
test_loader = DataLoader(Pets(names), batch_size=8, shuffle={shuffle})
net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
net.eval()
results = []
with torch.no_grad():
    for x, _ in test_loader:
        results += net(x).argmax(1).tolist()
for name, number in zip(names, results):
    print(name, number)
"""
UNITS = """\
import numpy as np
import torch
from torch import nn

class Scaler:
    def fit(self, y):
        self.middle, self.width = y.mean(), y.std()
        return self
    def transform(self, y):
        return (y - self.middle) / self.width
    def {back}(self, y):
        return y * self.width + self.middle

rng = np.random.default_rng(0)
x_train, x_test = rng.normal(size=(40, 3)), rng.normal(size=(9, 3))
y_train, y_test = x_train[:, :1] * 30 + 100, x_test[:, :1] * 30 + 100
scaler = Scaler().fit(y_train)
x = torch.tensor(x_train, dtype=torch.float32)
y = torch.tensor(scaler.transform(y_train), dtype=torch.float32)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    pred = net(torch.tensor(x_test, dtype=torch.float32)).numpy()
print(np.sqrt(((pred - {truth}) ** 2).mean()))
"""
CASES = {
    "a shuffled test": (
        SCRIPT.format(classes="sorted", shuffle="True"), "shuffled-order",
        "`shuffle=False`",
    ),
    "a set": (
        SCRIPT.format(classes="list", shuffle="False"), "classes-by-text",
        "`sorted(set(names))`",
    ),
    "in order": (SCRIPT.format(classes="sorted", shuffle="False"), "", None),
    "other units": (
        UNITS.format(back="turn_back", truth="y_test"), "unequal-transforms",
        "`scaler.inverse_transform(pred)`",
    ),
    "the same units": (
        UNITS.format(back="turn_back", truth="scaler.transform(y_test)"), "", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_orders_and_units_are_told(case: str, tmp_path: Path) -> None:
    text, code, fix = CASES[case]
    report = rehearsed(tmp_path, text)
    codes = [f.code for f in report.findings if f.severity == "warning"]
    assert codes == ([code] if code else [])
    if fix is not None and case != "other units":
        assert [edit.message for edit in report.findings[0].fixes] == [fix]
