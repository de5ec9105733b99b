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
    ConcatDataset, DataLoader, Dataset, Subset, SubsetRandomSampler, TensorDataset,
    WeightedRandomSampler,
)

net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(90, 6)

def score(data):
    right = 0
    with torch.no_grad():
        for inputs, labels in DataLoader(data, 10):
            right += (net.eval()(inputs).argmax(1) == labels).sum().item()
    return right / len(data)

class Rows(Dataset):
    def __init__(self, **held):
        vars(self).update(held)

    def __len__(self):
        return 90

    def __getitem__(self, index):
        if hasattr(self, "samples"):
            return self.samples[index]
        return x[index], self.labels[index]

class Odd(Rows):
    iloc = columns = 3  # no table

    def __init__(self):
        self.labels, self.frame = [i % 3 for i in range(90)], Odd

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
    "objects of all kinds": "fit(DataLoader(Subset(Odd(), [-1, *range(89)]), 10))",
}


SAMPLERS = """\
class Pictures(Dataset):
    def __init__(self):
        self.rows = []
        for label in range(3):
            for _ in range(30):
                self.rows.append((torch.randn(6), label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

data = Pictures()
order = ORDER
cut = 60
fit(DataLoader(data, 10, sampler=SubsetRandomSampler(order[:cut])))
with torch.no_grad():
    for inputs, labels in DataLoader(
        data, 10, sampler=SubsetRandomSampler(order[cut:])
    ):
        (net.eval()(inputs).argmax(1) == labels).sum().item()
"""
PARTS = (
    SAMPLERS.partition("fit(")[0]
    + """\
fit(DataLoader(Subset(data, order[:cut]), 10, shuffle=True))
score(Subset(data, order[cut:]))
"""
)
CUT = {
    "a list of files": (
        """\
files = sorted(f"{k}/{i}.png" for k in "abc" for i in range(30))
class Images(Rows):
    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return torch.randn(6), "abc".index(self.files[index][0])
train, test = files[:60], files[60:]
fit(DataLoader(Images(files=train), 10, shuffle=True))
score(Images(files=test))
""",
        "class 2 alone",
        "`np.random.shuffle(files)` before the cut",
    ),
    "tensors": (
        """\
y = torch.tensor(np.repeat(np.arange(4), 30) % 3 * 2)
x = torch.cat([x, x[:30]])
n = 60
net = nn.Linear(6, 6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
fit(DataLoader(TensorDataset(x[30:90], y[30:90]), 10, shuffle=True))
score(TensorDataset(x[:30], y[:30]))
""",
        "class 0 alone",
        "",
    ),
    "samplers of a list": (
        SAMPLERS.replace("ORDER", "list(range(90))"),
        "class 2 alone",
        "`np.random.shuffle(order)` before the cut",
    ),
    "samplers of an array": (
        SAMPLERS.replace("ORDER", "np.arange(90)"),
        "class 2 alone",
        "`np.random.shuffle(order)` before the cut",
    ),
    "subsets of a list": (
        PARTS.replace("ORDER", "list(range(90))"),
        "class 2 alone",
        "`np.random.shuffle(order)` before the cut",
    ),
    "two classes of four": (
        """\
x, y = torch.randn(80, 6), torch.arange(4).repeat_interleave(20)
net = nn.Linear(6, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
train, test = TensorDataset(x[:40], y[:40]), TensorDataset(x[40:], y[40:])
fit(DataLoader(train, 10, shuffle=True))
score(test)
""",
        "classes 2, 3",
        "`x, y = x[order], y[order]` before the cut",
    ),
}
WHOLE = {
    "a shuffled list": CUT["a list of files"][0].replace(
        "train, test", "np.random.default_rng(0).shuffle(files)\ntrain, test"
    ),
    "samplers of a shuffled list": SAMPLERS.replace(
        "ORDER", "np.random.default_rng(0).permutation(90).tolist()"
    ),
    "samplers of mixed data": SAMPLERS.replace("ORDER", "list(range(90))").replace(
        "torch.randn(6), label", "torch.randn(6), len(self.rows) % 3"
    ),
    "the training itself": SAMPLERS.replace("ORDER", "list(range(90))").replace(
        "order[cut:]", "order[:cut]"
    ),
    "each class by itself": """\
y = torch.arange(3).repeat_interleave(30)
fit(DataLoader(TensorDataset(x, y), 10, shuffle=True))
for k in range(3):
    score(TensorDataset(x[y == k], y[y == k]))
""",
    "groups beside the labels": """\
rows = [(torch.randn(6), i % 3, i // 30) for i in range(90)]
def fit_rows(loader):
    for inputs, labels, _ in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), labels).backward()
        optimizer.step()
fit_rows(DataLoader(rows[:60], 10, shuffle=True))
with torch.no_grad():
    for inputs, labels, _ in DataLoader(rows[60:], 10):
        (net.eval()(inputs).argmax(1) == labels).sum().item()
""",
    "a class that is rare": """\
y = torch.zeros(90, dtype=torch.long)
y[3] = 1
fit(DataLoader(TensorDataset(x[:60], y[:60]), 30))
score(TensorDataset(x[60:], y[60:]))
""",
    "a few samples": """\
y = torch.arange(3).repeat_interleave(30)
fit(DataLoader(TensorDataset(x[:84], y[:84]), 10, shuffle=True))
score(TensorDataset(x[84:], y[84:]))
""",
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


@pytest.mark.parametrize("name", CUT)
def test_a_cut_of_sorted_data_is_found(name: str, tmp_path: Path) -> None:
    text, words, fix = CUT[name]
    report = rehearsed(tmp_path, SCRIPT + text)
    (finding,) = report.findings
    assert finding.code == "split-by-class"
    assert words in finding.message
    assert [each.message for each in finding.fixes[:1]] == ([fix] if fix else [])


@pytest.mark.parametrize("name", WHOLE)
def test_parts_of_all_classes_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + WHOLE[name])
    assert [finding.code for finding in report.findings] == []
