"""What a loop adds to is as long as in a whole run, though turns are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
from collections import defaultdict, deque

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
targets = torch.randint(0, 3, (6001,))
data = TensorDataset(torch.randn(6001, 4), targets)
loader = DataLoader(data, 32)


def train(x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


"""

OF_TENSORS = """\
found, seen = [], []
with torch.no_grad():
    for x, y in loader:
        found.append(model(x))
        seen += y.tolist()
print((torch.cat(found).argmax(1) == targets).float().mean())
print((torch.tensor(seen) == targets).float().mean())
"""

OF_LOSSES = """\
losses, means = [], []
for epoch in range(20):
    of_epoch = []
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        of_epoch.append(loss.item())
    means.append(torch.tensor(of_epoch).view(4, 47).mean())
print(torch.tensor(losses).view(20, 188).mean(1) - torch.stack(means))
"""

OF_ARRAYS = """\
found = []
for x, y in loader:
    found.append(model(x).argmax(1).numpy())
print(np.mean(np.concatenate(found) == targets.numpy()))
"""

BY_NAME = """\
found = defaultdict(list)
kept = deque()
for x, y in loader:
    found["right"].append(y)
    kept.extend(y)
assert torch.cat(found["right"]).shape == targets.shape
assert len(kept) == 6001
"""

OF_AN_OBJECT = """\
class Meter:
    def __init__(self):
        self.values = []

    def update(self, value, count):
        self.values.extend([value] * count)


meter = Meter()
for x, y in loader:
    meter.update(nn.functional.cross_entropy(model(x), y).item(), len(x))
print(torch.tensor(meter.values) * (targets > 0))
"""

SAMPLES = """\
seen, right = 0, 0
for epoch in range(30):
    total = 0
    for x, y in loader:
        right += (model(x).argmax(1) == y).sum().item()
        total += y.size(0)
        seen = seen + len(y)
    assert total == 6001
assert seen == 30 * 6001
"""

JOINED = """\
every = None
for i, (x, y) in enumerate(loader):
    guess = model(x).argmax(1)
    every = guess if every is None else torch.cat([every, guess])
    if i == 0:
        rows = y.numpy()
    else:
        rows = np.append(rows, y.numpy())
print((every == targets).float().mean(), (rows == targets.numpy()).sum())
"""

GUARDED = """\
steps, last = 0, len(loader)
for epoch in range(30):
    for i, (x, y) in enumerate(loader):
        train(x, y)
        if (i + 1) % 4 == 0 or i + 1 == last:
            steps += 1
    assert steps == (epoch + 1) * 47
assert steps == 30 * 47
"""

OF_A_DICT = """\
state = {"steps": 0, "turns": 0}


def fit_one_epoch():
    for i, (x, y) in enumerate(loader, start=1):
        train(x, y)
        state["turns"] += 1
        if i % 4 == 0 or i == len(loader):
            state["steps"] += 1


for epoch in range(30):
    fit_one_epoch()
assert state == {"steps": 30 * 47, "turns": 30 * 188}
"""

OF_A_TRAINER = """\
class Trainer:
    def __init__(self):
        self.steps = self.turns = 0

    def fit_one_epoch(self):
        for i, (x, y) in enumerate(loader):
            train(x, y)
            self.turns += 1
            if i % 10 == 9:
                self.steps += 1

    def fit(self):
        for epoch in range(30):
            self.fit_one_epoch()


trainer = Trainer()
trainer.fit()
assert (trainer.steps, trainer.turns) == (30 * 18, 30 * 188)
"""

CASES = {
    name.lower(): text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str) and name != "HEAD"
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_a_loop_adds_to_is_as_long_as_in_a_whole_run(
    tmp_path: Path, name: str
) -> None:
    report = rehearsed(tmp_path, HEAD + CASES[name])
    assert [each.message for each in report.findings] == []
    assert report.complete


def test_a_wrong_length_is_found_with_the_numbers_of_a_whole_run(
    tmp_path: Path,
) -> None:
    text = """\
found = []
for x, y in loader:
    found.append(model(x).argmax(1))
print((torch.cat(found[:-1]) == targets).float().mean())
"""
    report = rehearsed(tmp_path, HEAD + text)
    (finding,) = report.findings
    assert finding.code == "broadcast-mismatch"
    assert "5984 against 6001" in finding.message
