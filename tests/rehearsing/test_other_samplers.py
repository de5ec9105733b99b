"""Loaders whose sampler was made of another part of the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import random

import torch
from torch import nn
from torch.utils.data import (
    BatchSampler, DataLoader, RandomSampler, SubsetRandomSampler, TensorDataset, Subset
)


class ByLength:
    def __init__(self, dataset, batch_size=8):
        self.order = list(range(len(dataset)))
        self.batch_size = batch_size

    def __len__(self):
        return -(-len(self.order) // self.batch_size)

    def __iter__(self):
        random.shuffle(self.order)
        for at in range(0, len(self.order), self.batch_size):
            yield self.order[at : at + self.batch_size]


def make(n):
    return TensorDataset(torch.randn(n, 6), torch.randint(3, (n,)))


train_set, valid_set = make(48), make(16)
SETS
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for x, y in valid_loader:
        print((model(x).argmax(1) == y).float().mean())
"""
TRAINING = "train_loader = DataLoader(train_set, batch_sampler=ByLength(train_set))\n"
WRONG = {
    "the data set": (
        TRAINING
        + "valid_loader = DataLoader(train_set, batch_sampler=ByLength(valid_set))",
        "`DataLoader(valid_set, ...)`",
    ),
    "its sampler": (
        TRAINING + "valid_loader = DataLoader(valid_set, batch_size=8,"
        " sampler=RandomSampler(train_set, num_samples=8))",
        "`sampler` of `valid_set`",
    ),
    "a batch sampler of torch": (
        TRAINING + "valid_loader = DataLoader(dataset=train_set,"
        " batch_sampler=BatchSampler(RandomSampler(valid_set), 8, False))",
        "`DataLoader(valid_set, ...)`",
    ),
    "samplers with names": (
        "valid_sampler = ByLength(dataset=valid_set)\n"
        "train_sampler = ByLength(train_set)\n"
        "train_loader = DataLoader(train_set, batch_sampler=valid_sampler)\n"
        "valid_loader = DataLoader(valid_set, batch_sampler=valid_sampler)",
        "`batch_sampler=train_sampler`",
    ),
}
RIGHT = {
    "its own": "valid_set = make(24)\n"
    "valid_loader = DataLoader(valid_set, batch_sampler=ByLength(valid_set))",
    "indices of a split": "valid_index = list(range(8))\n"
    "valid_loader = DataLoader(train_set, 8,"
    " sampler=SubsetRandomSampler(valid_index))",
    "a part of it": "valid_part = Subset(train_set, range(8))\n"
    "valid_loader = DataLoader(train_set, batch_sampler=ByLength(valid_part))",
    "a copy": "valid_copy = copy.copy(train_set)\n"
    "valid_loader = DataLoader(valid_copy, batch_sampler=ByLength(train_set))",
    "names that say no part": "data, other = train_set, valid_set\n"
    "valid_loader = DataLoader(data, batch_sampler=ByLength(other))",
    "of one split": "from torch.utils.data import random_split\n"
    "train_part, valid_part = random_split(train_set, [40, 8])\n"
    "valid_loader = DataLoader(valid_part, batch_sampler=ByLength(valid_part))",
    "the same rows otherwise": "valid_rows, train_rows = make(48), make(48)\n"
    "valid_loader = DataLoader(valid_rows, batch_sampler=ByLength(train_rows))",
    "another parameter": "valid_loader = DataLoader(valid_set, 8)\n"
    "print(ByLength(train_set, batch_size=len(valid_set)))",
}


def _find(folder: Path, sets: str) -> list[tuple[str, list[str]]]:
    """Return the findings of a training with these loaders, and their edits."""
    findings = rehearsed(folder, SCRIPT.replace("SETS", sets)).findings
    return [
        (finding.code, [fix.message for fix in finding.fixes if fix.checked])
        for finding in findings
        if finding.code == "misplaced-argument"
    ]


@pytest.mark.parametrize("case", WRONG)
def test_a_sampler_of_another_part_is_told(case: str, tmp_path: Path) -> None:
    sets, fix = WRONG[case]
    assert _find(tmp_path, sets) == [("misplaced-argument", [fix])]


@pytest.mark.parametrize("case", RIGHT)
def test_samplers_of_the_same_rows_are_quiet(case: str, tmp_path: Path) -> None:
    assert _find(tmp_path, TRAINING + RIGHT[case]) == []
