"""Data that is ordered or changed apart, and seeds that are set in each epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import copy
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from torch.utils.data import Subset, random_split


class Photos(Dataset):
    def __init__(self, transform=None):
        self.transform = transform

    def __len__(self):
        return 32

    def __getitem__(self, i):
        image = torch.randn(6)
        return (self.transform(image) if self.transform else image), i % 2


class Lines(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        {start}
        for i in range(self.count):
            yield torch.full((6,), 1.0 * i), i % 2


net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
rows, labels = torch.randn(32, 6), torch.arange(32) % 2
photos = Photos()


def train(loader):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()


"""
START = "pass"
PAIRED = "train(DataLoader(TensorDataset(rows, labels), 8))"
SPLIT = "train_set, test_set = random_split(photos, [24, 8])\n"
EPOCH = """\
for epoch in range(3):
    {seed}
    train(DataLoader(TensorDataset(rows, labels), 8, shuffle=True))
"""
WRONG = {
    "two permutations": (
        "shuffled-apart",
        "rows = rows[torch.randperm(len(rows))]\n"
        "labels = labels[torch.randperm(len(rows))]\n" + PAIRED,
    ),
    "of NumPy, cut": (
        "shuffled-apart",
        "rows = rows[np.random.permutation(32)]\n"
        "labels = labels[np.random.permutation(32)]\n"
        "train(DataLoader(TensorDataset(rows[:24], labels[:24]), 8))",
    ),
    "of a split": (
        "shared-transform",
        SPLIT + "train_set.dataset.transform = lambda x: x + torch.randn(6)\n"
        "test_set.dataset.transform = lambda x: x\ntrain(DataLoader(train_set, 8))",
    ),
    "of two subsets": (
        "shared-transform",
        "train_set = Subset(photos, range(24))\ntest_set = Subset(photos, range(8))\n"
        "train_set.dataset.transform = torch.sqrt\n"
        "test_set.dataset.transform = torch.sin\ntrain(DataLoader(train_set, 8))",
    ),
    "a stream": (
        "items-of-every-worker",
        "train(DataLoader(Lines(32), batch_size=8, num_workers=4))",
    ),
    "a stream with a name": (
        "items-of-every-worker",
        "lines = Lines(32)\ntrain(DataLoader(lines, 8, num_workers=2))",
    ),
    "a seed in the loop": ("same-draws", EPOCH.format(seed="torch.manual_seed(42)")),
    "a seed in a function": (
        "same-draws",
        "def run_epoch():\n    torch.manual_seed(0)\n"
        "    for x, y in DataLoader(TensorDataset(rows, labels), 8):\n"
        "        optimizer.zero_grad()\n"
        "        nn.functional.cross_entropy(net(x), y).backward()\n"
        "        optimizer.step()\nfor epoch in range(3):\n    run_epoch()",
    ),
}
RIGHT = {
    "one permutation": "order = torch.randperm(32)\nrows = rows[order]\n"
    "labels = labels[order]\n" + PAIRED,
    "negatives": "others = rows\nothers = others[torch.randperm(32)]\n"
    "rows = rows + 0 * others\n" + PAIRED,
    "two sets in two orders": "more = torch.randn(32, 6)\n"
    "rows = rows[torch.randperm(32)]\nmore = more[torch.randperm(32)]\n"
    "labels = (rows.sum(1) > 0).long()\n" + PAIRED,
    "a copy": SPLIT + "test_set.dataset = copy.copy(photos)\n"
    "train_set.dataset.transform = torch.sqrt\n"
    "test_set.dataset.transform = torch.sin\ntrain(DataLoader(train_set, 8))",
    "before each use": SPLIT + "train_set.dataset.transform = torch.sqrt\n"
    "for epoch in range(2):\n    train(DataLoader(train_set, 8))\n"
    "test_set.dataset.transform = torch.sin\n"
    "for x, y in DataLoader(test_set, 8):\n    net(x)",
    "of two data sets": "other = Photos()\ntrain_set = Subset(photos, range(24))\n"
    "test_set = Subset(other, range(24, 32))\n"
    "train_set.dataset.transform = torch.sqrt\n"
    "test_set.dataset.transform = torch.sin\ntrain(DataLoader(train_set, 8))",
    "one worker": "train(DataLoader(Lines(32), 8, num_workers=1))",
    "no worker": "train(DataLoader(Lines(32), 8))",
    "a seed for the run": "torch.manual_seed(0)\n" + EPOCH.format(seed="pass"),
    "a seed for each epoch": EPOCH.format(seed="torch.manual_seed(epoch)"),
    "a seed once": EPOCH.format(seed="if epoch == 0: torch.manual_seed(0)"),
    "a run for each rate": "for rate in (0.1, 0.01):\n    torch.manual_seed(0)\n"
    "    net = nn.Linear(6, 2)\n"
    "    optimizer = torch.optim.SGD(net.parameters(), lr=rate)\n"
    "    train(DataLoader(TensorDataset(rows, labels), 8))",
    "a generator": EPOCH.format(seed="torch.Generator().manual_seed(0)"),
}
CODES = {code for code, _ in WRONG.values()}
FIXES = {
    "shuffled-apart": "order = torch.randperm(len(rows))",
    "same-draws": "",
}


def find_codes(folder: Path, text: str, start: str = START) -> list[str]:
    report = rehearsed(folder, HEAD.format(start=start) + text)
    assert report.ok or all(f.severity != "error" for f in report.findings)
    return [f.code for f in report.findings if f.code in CODES]


@pytest.mark.parametrize("name", WRONG)
def test_it_is_found(name: str, tmp_path: Path) -> None:
    code, text = WRONG[name]
    assert find_codes(tmp_path, text) == [code]


@pytest.mark.parametrize("name", RIGHT)
def test_legal(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, RIGHT[name]) == []


@pytest.mark.parametrize(
    "start",
    [
        "info = torch.utils.data.get_worker_info()",
        "first = torch.randint(9, ()).item()",
    ],
)
def test_streams_that_know_their_worker_or_draw_are_quiet(
    start: str, tmp_path: Path
) -> None:
    text = "train(DataLoader(Lines(32), 8, num_workers=4))"
    assert find_codes(tmp_path, text, start) == []


@pytest.mark.parametrize("name", ["two permutations", "a seed in the loop"])
def test_the_edit_is_checked(name: str, tmp_path: Path) -> None:
    code, text = WRONG[name]
    report = rehearsed(tmp_path, HEAD.format(start=START) + text)
    (finding,) = (f for f in report.findings if f.code == code)
    assert finding.fixes
    assert finding.fixes[0].checked
    assert finding.fixes[0].edits[0].text.strip() == FIXES[code]
