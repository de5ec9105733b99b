"""Data for evaluation that get the random changes of the training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split

class Compose:
    def __init__(self, steps):
        self.steps = steps
    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x

class Flip:
    def __call__(self, x):
        return x.flip(0) if random.random() < 0.5 else x

class Scale:
    def __call__(self, x):
        return x / 2

class Rows(Dataset):
    def __init__(self, n, transform=None):
        self.x, self.y = torch.randn(n, 6), torch.randint(3, (n,))
        self.transform = transform
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        x, y = self.x[index], self.y[index]
        if self.transform is not None:
            x = self.transform(x)
        return x, y

changes = Compose([Flip(), Scale()])
"""
OWN = """\
class Own(Dataset):
    def __init__(self, n, training=False):
        self.x, self.y = torch.randn(n, 6), torch.randint(3, (n,))
        self.training = training
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        x = self.x[index]
"""
AFTER = """
net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    net.train()
    for inputs, labels in DataLoader(train_set, 16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(inputs), labels).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for inputs, labels in DataLoader(val_set, 16):
            print((net(inputs).argmax(1) == labels).float().mean().item())
"""
BOTH = "train_set, val_set = Own(60), Own(20)"
WRONG = {
    "parts of one data set": (
        "train_set, val_set = random_split(Rows(80, changes), [60, 20])"
    ),
    "parts of a named data set": (
        "whole = Rows(80, transform=changes)\n"
        "train_set, val_set = random_split(whole, [60, 20])"
    ),
    "subsets": (
        "whole = Rows(80, transform=changes)\ntrain_set = Subset(whole, range(60))\n"
        "val_set = Subset(whole, range(60, 80))"
    ),
    "one transform for two data sets": (
        "train_set = Rows(60, transform=changes)\nval_set = Rows(20, transform=changes)"
    ),
    "a flip of its own": (
        f"{OWN}        if random.random() < 0.5:\n            x = x.flip(0)\n"
        f"        return x, self.y[index]\n{BOTH}"
    ),
    "noise of its own": (
        f"{OWN}        x = x + 0.1 * torch.randn_like(x)\n"
        f"        return x, self.y[index]\n{BOTH}"
    ),
    "a method of its own": (
        f"{OWN}        return self.change(x), self.y[index]\n"
        "    def change(self, x):\n        if torch.rand(1).item() > 0.5:\n"
        f"            x = torch.roll(x, 1)\n        return x\n{BOTH}"
    ),
    "parts of a data set with a flip": (
        f"{OWN}        if random.random() < 0.5:\n            x = x.flip(0)\n"
        "        return x, self.y[index]\n"
        "train_set, val_set = random_split(Own(80), [60, 20])"
    ),
    "one flag for both": (
        f"{OWN}        if self.training and random.random() < 0.5:\n"
        "            x = x.flip(0)\n        return x, self.y[index]\n"
        "train_set, val_set = Own(60, True), Own(20, True)"
    ),
}
RIGHT = {
    "a flag that is off for both": (
        f"{OWN}        if self.training and random.random() < 0.5:\n"
        "            x = x.flip(0)\n        return x, self.y[index]\n"
        "train_set, val_set = Own(60, False), Own(20, False)"
    ),
    "a flag of something else": (
        f"{OWN}        if not self.training and random.random() < 0.5:\n"
        "            x = x.flip(0)\n        return x, self.y[index]\n"
        "train_set, val_set = Own(60, True), Own(20, True)"
    ),
    "a transform for the training only": (
        "train_set, val_set = Rows(60, transform=changes), Rows(20)"
    ),
    "a fixed transform for both": (
        "fixed = Compose([Scale()])\n"
        "train_set, val_set = random_split(Rows(80, fixed), [60, 20])"
    ),
    "the same indices of two data sets": (
        "train_set, val_set = random_split(Rows(80, changes), [60, 20])\n"
        "val_set = Subset(Rows(80), val_set.indices)"
    ),
    "a transform that is set later": (
        "import copy\ntrain_set, val_set = random_split(Rows(80, changes), [60, 20])\n"
        "val_set.dataset = copy.copy(val_set.dataset)\n"
        "val_set.dataset.transform = None"
    ),
    "a flag": (
        f"{OWN}        if self.training and random.random() < 0.5:\n"
        "            x = x.flip(0)\n        return x, self.y[index]\n"
        "train_set, val_set = Own(60, True), Own(20)"
    ),
    "an early return": (
        f"{OWN}        if not self.training:\n            return x, self.y[index]\n"
        "        x = x + torch.randn_like(x)\n        return x, self.y[index]\n"
        "train_set, val_set = Own(60, True), Own(20)"
    ),
    "rows that are drawn": (
        f"{OWN}        other = random.randrange(len(self.x))\n"
        "        x = x - self.x[other]\n"
        f"        return x, self.y[index] * 0 + self.y[other]\n{BOTH}"
    ),
    "an augmentation at test time": (
        "# test-time augmentation\n"
        "train_set, val_set = random_split(Rows(80, changes), [60, 20])"
    ),
}
VIEWS = """
class Views(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 6)
    def __len__(self):
        return len(self.x)
    def __getitem__(self, index):
        x = self.x[index]
        noisy = x
        noisy = noisy + 0.1 * torch.randn_like(noisy)
        return noisy, x

train_set, val_set = Views(60), Views(20)
net = nn.Linear(6, 6)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, clean in DataLoader(train_set, 16):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(inputs), clean).backward()
    optimizer.step()
"""
FIXES = {
    "parts of a named data set": "val_set.dataset.transform = Scale()",
    "one transform for two data sets": "`transform=Scale()`",
    "a flip of its own": "`augment=False`",
}


@pytest.mark.parametrize("name", WRONG)
def test_random_changes_of_what_is_evaluated_are_found(
    name: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{WRONG[name]}\n{AFTER}")
    found = [f for f in report.findings if f.code == "augmented-evaluation"]
    assert len(found) == 1
    if name in FIXES:
        assert any(FIXES[name] in fix.message for fix in found[0].fixes if fix.checked)


@pytest.mark.parametrize("name", RIGHT)
def test_plain_samples_of_an_evaluation_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{RIGHT[name]}\n{AFTER}")
    assert "augmented-evaluation" not in [f.code for f in report.findings]


def test_a_disturbed_sample_beside_the_plain_one_is_the_task(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{VIEWS}")
    assert "augmented-evaluation" not in [f.code for f in report.findings]
