"""Samples that are normalized for training and not for evaluation, or for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def compose(*steps):
    def call(x):
        for step in steps:
            x = step(x)
        return x
    return call


def to_tensor(x):
    return torch.as_tensor(x, dtype=torch.float32)


def flip(x):
    return x.flip(-1) if torch.rand(()) < 0.5 else x


def normalize(x):
    return (x - 0.5) / 0.2


def to_scaled_tensor(x):
    return normalize(to_tensor(x))


{transforms}


class Photos(Dataset):
    def __init__(self, transform, train):
        self.transform, self.train = transform, train
        self.x, self.y = torch.rand(32, 8).tolist(), torch.randint(3, (32,))

    def __len__(self):
        return 32

    def __getitem__(self, i):
        x = self.transform(self.x[i])
{item}
        return x, self.y[i]


model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Photos(train_transform, True), 8, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for x, y in DataLoader(Photos(test_transform, False), 8):
        print((model(x).argmax(1) == y).sum().item())
"""
BOTH = "train_transform = test_transform = compose(to_tensor)"
WRONG = {
    "steps": (
        "train_transform = compose(to_tensor, flip, normalize)\n"
        "test_transform = compose(to_tensor)",
        "",
    ),
    "functions": (
        "def train_transform(x):\n    return normalize(to_tensor(x))\n\n\n"
        "def test_transform(x):\n    return to_tensor(x)",
        "",
    ),
    "an item": (BOTH, "if self.train:\n    x = (x - 0.5) / 0.2"),
}
RIGHT = {
    "both": (
        "train_transform = compose(to_tensor, flip, normalize)\n"
        "test_transform = compose(to_tensor, normalize)",
        "",
    ),
    "by its own function": (
        "train_transform = compose(to_tensor, flip, normalize)\n"
        "test_transform = compose(to_scaled_tensor)",
        "",
    ),
    "turned in training": (BOTH, "if self.train:\n    x = flip(x)"),
    "both in an item": (
        BOTH,
        "if self.train:\n    x = flip(x)\nx = (x - 0.5) / 0.2",
    ),
}


def _codes(folder: Path, transforms: str, item: str) -> list[str]:
    item = "\n".join(" " * 8 + line for line in item.split("\n"))
    report = rehearsed(folder, SCRIPT.format(transforms=transforms, item=item))
    assert report.complete
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("name", WRONG)
def test_what_only_training_normalizes_is_found(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, *WRONG[name]) == ["unequal-transforms"]


@pytest.mark.parametrize("name", RIGHT)
def test_equal_transforms_are_quiet(name: str, tmp_path: Path) -> None:
    assert _codes(tmp_path, *RIGHT[name]) == []


CHOSEN = """\
def build(train):
    if train:
        return compose(to_tensor, flip, normalize)
    return compose(to_tensor{last})


train_transform, test_transform = build(True), build(False)
"""


@pytest.mark.parametrize(
    ("last", "codes"), [("", ["unequal-transforms"]), (", normalize", [])]
)
def test_both_sides_of_a_flag_normalize(
    last: str, codes: list[str], tmp_path: Path
) -> None:
    assert _codes(tmp_path, CHOSEN.format(last=last), "") == codes
