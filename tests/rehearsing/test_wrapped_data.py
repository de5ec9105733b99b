"""What belongs to the data set that a subset, a joined set or a loader holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
from torch.utils.data import random_split

class Rows(Dataset):
    def __init__(self, transform=None):
        self.rows, self.transform = torch.randn(20, 4), transform
        self.classes = ["a", "b"]
        self.targets = {targets}

    def __len__(self):
        return 20

    def __getitem__(self, i):
        return self.rows[i], self.targets[i]

whole = Rows()
{held}
{used}
net = nn.Linear(4, 2)
for x, y in DataLoader(whole, batch_size=5):
    nn.functional.cross_entropy(net(x), y).backward()
"""
TENSOR, LIST = "torch.arange(20) % 2", "[i % 2 for i in range(20)]"
SPLIT = "train, rest = random_split(whole, [15, 5])"
SUBSET = "train = Subset(whole, list(range(10)))"
NESTED = "train = Subset(Subset(whole, list(range(5, 15))), [1, 2, 3])"
JOINED = "train = ConcatDataset([whole, Rows()])"
LOADER = "train = DataLoader(whole, batch_size=4)"
COUNT = "print(torch.bincount(train.targets))"
NAMES = "print(train.classes[0])"
MISTAKES = {
    "targets of a split": (
        TENSOR, SPLIT, COUNT, "train.dataset.targets[train.indices]",
    ),
    "targets in a list": (
        LIST, SUBSET, "print(torch.tensor(train.targets).bincount())",
        "[train.dataset.targets[i] for i in train.indices]",
    ),
    "names of the classes": (TENSOR, SPLIT, NAMES, "train.dataset.classes"),
    "a transform": (
        TENSOR, SUBSET, "print(train.transform)", "train.dataset.transform",
    ),
    "a subset of a subset": (
        TENSOR, NESTED, COUNT,
        "train.dataset.dataset.targets[[train.dataset.indices[i] for i in"
        " train.indices]]",
    ),
    "joined": (
        TENSOR, JOINED, COUNT,
        "torch.cat([part.targets for part in train.datasets])",
    ),
    "joined names": (TENSOR, JOINED, NAMES, "train.datasets[0].classes"),
    "a loader": (TENSOR, LOADER, NAMES, "train.dataset.classes"),
    "tensors": (
        TENSOR, "train = TensorDataset(whole.rows, whole.targets)", COUNT,
        "train.tensors[-1]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_data_set_inside_is_read(name: str, tmp_path: Path) -> None:
    targets, held, used, new = MISTAKES[name]
    text = PROGRAM.format(targets=targets, held=held, used=used)
    (finding,) = (f for f in rehearsed(tmp_path, text).findings if f.fixes)
    assert finding.message.startswith("`train` is a `")
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize("used", ["print(train.weights)", "train.show()"])
def test_a_name_that_no_data_set_has(used: str, tmp_path: Path) -> None:
    text = PROGRAM.format(targets=TENSOR, held=SUBSET, used=used)
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "belongs to" not in finding.message
    assert not finding.fixes
