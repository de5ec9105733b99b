"""Data that lost its order, that parts or workers share: each beside legal programs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import copy
import numpy as np
import torch
from torch import nn
from torch.utils.data import (
    DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split,
)

inputs, labels = torch.rand(40, 6), torch.randint(0, 3, (40,))
model, criterion = nn.Linear(6, 3), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


class Rows(Dataset):
    def __init__(self, transform=None):
        self.names = [f"row {i}" for i in range(40)]
        self.classes = ["red", "green", "blue"]
        self.targets, self.transform = torch.randint(0, 3, (40,)), transform

    def __len__(self):
        return 40

    def __getitem__(self, i):
        row = torch.rand(6)
        row = self.transform(row) if self.transform else row
        return row, self.targets[i]


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for row in range(self.rows):
            yield torch.rand(6, generator=torch.Generator().manual_seed(row)), row % 3


def fit(loader):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()


def predict(loader):
    kept, truths = [], []
    for x, y in loader:
        kept.append(model(x).argmax(1).detach())
        truths.append(y)
    return torch.cat(kept), torch.cat(truths)


rows = Rows()
names = ["a", "b", "c"]
"""
FIT = "fit(DataLoader(TensorDataset(inputs, labels), 10))"
SPLIT = "first, second = random_split(rows, [30, 10])"
LATER = "fit(DataLoader(first, 10))\nfit(DataLoader(second, 10))"
CHANGE = "def change(scale):\n    return lambda x: x + scale * torch.randn(6)\n\n\n"
TRAIN = "fit(DataLoader(rows, 10))\n"
WRONG = {
    "two permutations": ("separate-permutations",
        "inputs = inputs[torch.randperm(40)]\nlabels = labels[torch.randperm(40)]\n"
        + FIT),
    "named permutations": ("separate-permutations",
        "a, b = torch.randperm(40), torch.randperm(40)\n"
        "fit(DataLoader(TensorDataset(inputs[a][:30], labels[b][:30]), 10))"),
    "index_select": ("separate-permutations",
        "inputs = inputs.index_select(0, torch.randperm(40)) / 2\n"
        "labels = labels.index_select(0, torch.randperm(40))\n"
        "fit((inputs[i:i + 10], labels[i:i + 10]) for i in range(0, 40, 10))"),
    "orders of NumPy": ("separate-permutations",
        "inputs = inputs[np.random.permutation(40)]\n"
        "labels = labels[np.random.permutation(40)]\n"
        "fit(DataLoader(TensorDataset(inputs[:30], labels[:30]), 10))"),
    "orders of a generator": ("separate-permutations",
        "rng = np.random.default_rng(0)\na = rng.permutation(40)\n"
        "b = torch.from_numpy(rng.permutation(40))\n"
        "fit(DataLoader(TensorDataset(inputs[a], labels[b]), 10))"),
    "arrays": ("separate-permutations",
        "inputs, labels = np.ones((40, 6), 'float32'), np.zeros(40, int)\n"
        "inputs = inputs[np.random.permutation(40)]\n"
        "labels = labels[np.random.permutation(40)]\n"
        "pairs = TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels))\n"
        "fit(DataLoader(pairs, 10))"),
    "transforms of parts": ("shared-transform",
        f"{SPLIT}\nfirst.dataset.transform = nn.Dropout()\n"
        f"second.dataset.transform = None\n{LATER}"),
    "attributes of subsets": ("shared-transform",
        "first = Subset(rows, range(30))\nsecond = Subset(rows, range(30, 40))\n"
        "first.dataset.transform = torch.sqrt\nloader = DataLoader(first, 10)\n"
        f"second.dataset.transform = torch.abs\n{LATER}"),
    "with other lines between": ("shared-transform",
        f"{SPLIT}\nfirst.dataset.transform = lambda x: x + torch.randn(6)\n"
        "print(len(first))\n"
        f"second.dataset.transform = lambda x: x\n{LATER}"),
    "a function that builds them": ("shared-transform",
        f"{CHANGE}{SPLIT}\nfirst.dataset.transform = change(0.1)\n"
        f"second.dataset.transform = change(0)\n{LATER}"),
    "a function within a function": ("shared-transform",
        f"{CHANGE}def build():\n    {SPLIT}\n"
        "    first.dataset.transform = change(0.1)\n"
        "    second.dataset.transform = change(scale=0)\n"
        "    return first, second\n\n\n"
        "for part in build():\n    fit(DataLoader(part, 10))"),
    "workers": ("repeated-by-workers",
        "fit(DataLoader(Stream(20), 10, num_workers=2))"),
    "workers of a list": ("repeated-by-workers",
        "class Lines(IterableDataset):\n"
        "    def __iter__(self):\n"
        "        return iter([(torch.zeros(6), 1)] * 20)\n\n\n"
        "loader = DataLoader(dataset=Lines(), batch_size=5, num_workers=2)\n"
        "fit(loader)"),
    "workers of shards": ("repeated-by-workers",
        "class Shards(Stream):\n"
        "    def __iter__(self):\n"
        "        for shard in range(4):\n"
        "            yield from [(torch.zeros(6), shard % 3)] * 5\n\n\n"
        "fit(DataLoader(Shards(20), 10, num_workers=2))"),
    "workers of rows that were drawn before": ("repeated-by-workers",
        "class Drawn(Stream):\n"
        "    def __init__(self, rows):\n"
        "        rng = np.random.default_rng(0)\n"
        "        self.rows = rng.normal(size=(rows, 6)).astype(np.float32)\n"
        "    def __iter__(self):\n"
        "        for i in range(len(self.rows)):\n"
        "            yield torch.from_numpy(self.rows[i].copy()), i % 3\n\n\n"
        "fit(DataLoader(Drawn(20), 10, num_workers=2))"),
    "workers of a list that was drawn before": ("repeated-by-workers",
        "class Drawn(Stream):\n"
        "    def __init__(self, rows):\n"
        "        self.rows = [torch.randn(6) for _ in range(rows)]\n"
        "    def __iter__(self):\n"
        "        for row in self.rows:\n            yield row, 1\n\n\n"
        "fit(DataLoader(Drawn(20), 10, num_workers=2))"),
    "zipped names": ("shuffled-order",
        TRAIN + "loader = DataLoader(rows, 10, shuffle=True)\n"
        "guesses, _ = predict(loader)\n"
        "table = dict(zip(rows.names, guesses.tolist()))"),
    "a loader of a function": ("shuffled-order",
        TRAIN + "def make(data):\n"
        "    return DataLoader(data, 10, shuffle=True)\n\n\n"
        "kept = []\nfor x, _ in make(rows):\n"
        "    kept.extend(model(x).argmax(1).tolist())\n"
        "table = dict(zip(rows.names, kept))"),
    "joined in an expression": ("shuffled-order",
        TRAIN + "def collect(loader):\n"
        "    return torch.cat([model(x).argmax(1) for x, _ in loader])\n\n\n"
        "def score(found, labels):\n"
        "    return (found == labels).float().mean()\n\n\n"
        "loader = DataLoader(rows, 10, shuffle=True)\nfound = collect(loader)\n"
        "print(score(found, rows.targets))"),
    "a name of the tensors": ("shuffled-order",
        FIT + "\nloader = DataLoader(TensorDataset(inputs, labels), 10, shuffle=True)\n"
        "kept = []\nfor x, _ in loader:\n    kept.extend(model(x).argmax(1).tolist())\n"
        "rows = list(zip(labels, [names[k] for k in kept]))"),
    "compared truths": ("shuffled-order",
        TRAIN + "loader = DataLoader(rows, 10, shuffle=True)\nkept = []\n"
        "for x, _ in loader:\n    kept.extend(model(x).argmax(1).tolist())\n"
        "right = (torch.tensor(kept) == loader.dataset.targets).sum()"),
}  # fmt: skip
RIGHT = {
    "a name of the tensors in order":
        FIT + "\nloader = DataLoader(TensorDataset(inputs, labels), 10)\n"
        "kept = []\nfor x, _ in loader:\n    kept.extend(model(x).argmax(1).tolist())\n"
        "rows = list(zip(labels, kept))",
    "a name of the tensors that is one of a batch, too":
        FIT + "\nloader = DataLoader(TensorDataset(inputs, labels), 10, shuffle=True)\n"
        "for x, labels in loader:\n    kept = []\n"
        "    kept.extend(model(x).argmax(1).tolist())\n"
        "    rows = list(zip(labels, kept))",
    "joined in order":
        TRAIN + "def collect(loader):\n"
        "    return torch.cat([model(x).argmax(1) for x, _ in loader])\n\n\n"
        "def score(found, labels):\n"
        "    return (found == labels).float().mean()\n\n\n"
        "fit(DataLoader(rows, 10, shuffle=True))\n"
        "found = collect(DataLoader(rows, 10))\n"
        "print(score(found, rows.targets))",
    "counted with the classes":
        TRAIN + "def collect(loader):\n"
        "    return torch.cat([model(x).argmax(1) for x, _ in loader])\n\n\n"
        "def count(found, names):\n"
        "    return dict(zip(names, torch.bincount(found, minlength=3).tolist()))\n\n\n"
        "loader = DataLoader(rows, 10, shuffle=True)\nfound = collect(loader)\n"
        "print(count(found, rows.classes))",
    "one permutation":
        "order = torch.randperm(40)\n"
        "fit(DataLoader(TensorDataset(inputs[order], labels[order]), 10))",
    "parts of one permutation":
        "order = torch.randperm(40)\na = order[:30]\n"
        "fit(DataLoader(TensorDataset(inputs[a], labels[order[:30]]), 10))",
    "one permutation of NumPy":
        "order = np.random.permutation(40)\n"
        "fit(DataLoader(TensorDataset(inputs[order], labels[order]), 10))",
    "one permutation of arrays":
        "inputs, labels = np.ones((40, 6), 'float32'), np.zeros(40, int)\n"
        "order = np.random.permutation(40)\n"
        "inputs = inputs[order]\nlabels = labels[order]\n"
        "pairs = TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels))\n"
        "fit(DataLoader(pairs, 10))",
    "an order in each epoch":
        "for epoch in range(2):\n    order = np.random.permutation(40)\n"
        "    fit([(inputs[order], labels[order])])",
    "negatives":
        "others = inputs\nothers = others[torch.randperm(40)]\n"
        "inputs = inputs + 0 * others\n" + FIT,
    "two sets in two orders":
        "more = torch.rand(40, 6)\ninputs = inputs[torch.randperm(40)]\n"
        "more = more[torch.randperm(40)]\nlabels = (inputs.sum(1) > 3).long()\n" + FIT,
    "arrays of which nothing is trained":
        "inputs, labels = np.ones((40, 6), 'float32'), np.zeros(40, int)\n"
        "inputs = inputs[np.random.permutation(40)]\n"
        "labels = labels[np.random.permutation(40)]\n"
        "pairs = list(zip(inputs, labels))",
    "two arrays in two orders":
        "one, two = np.ones((40, 6)), np.ones((40, 6))\n"
        "one = one[np.random.permutation(40)]\ntwo = two[np.random.permutation(40)]\n"
        "pairs = TensorDataset(torch.tensor(one).float(), labels)\n"
        "fit(DataLoader(pairs, 10))",
    "shuffled twice":
        "a, b = torch.randperm(40), torch.randperm(40)\n"
        "fit(DataLoader(TensorDataset(inputs[a][b], labels[a][b]), 10))",
    "random labels":
        "labels = labels[torch.randperm(40)]\n" + FIT,
    "mixed samples":
        "order = torch.randperm(40)\ninputs, labels = inputs[order], labels[order]\n"
        "other = torch.randperm(40)\ninputs = inputs + inputs[other]\n" + FIT,
    "a copy for one part":
        f"{SPLIT}\nsecond.dataset = copy.copy(rows)\n"
        "first.dataset.transform = nn.Dropout()\n"
        f"second.dataset.transform = None\n{LATER}",
    "in turns":
        f"{SPLIT}\nfor epoch in range(2):\n"
        "    first.dataset.transform = nn.Dropout()\n    fit(DataLoader(first, 10))\n"
        "    second.dataset.transform = None\n    fit(DataLoader(second, 10))",
    "used between":
        f"{SPLIT}\nfirst.dataset.transform = torch.sqrt\n"
        "fit(DataLoader(first, 10))\nsecond.dataset.transform = torch.abs\n"
        "fit(DataLoader(second, 10))",
    "read between":
        f"{SPLIT}\nfirst.dataset.transform = torch.sqrt\n"
        "guesses, truths = predict(DataLoader(first, 10))\n"
        "second.dataset.transform = torch.abs\nfit(DataLoader(second, 10))",
    "a function that reads the first":
        f"{CHANGE}{SPLIT}\nloader = DataLoader(first, 10)\n\n\n"
        "def measure():\n    return next(iter(loader))[0].mean(0)\n\n\n"
        "def move():\n    mean = measure()\n    return lambda x: x - mean\n\n\n"
        "first.dataset.transform = change(0.1)\n"
        f"second.dataset.transform = move()\n{LATER}",
    "a function of the first":
        f"{CHANGE}def centre(part):\n    mean = part[0][0]\n"
        "    return lambda x: x - mean\n\n\n"
        f"{SPLIT}\nfirst.dataset.transform = change(0.1)\n"
        f"second.dataset.transform = centre(first)\n{LATER}",
    "the same function for both":
        f"{CHANGE}{SPLIT}\nfirst.dataset.transform = change(0.1)\n"
        f"second.dataset.transform = change(0.1)\n{LATER}",
    "the same for both":
        f"{SPLIT}\nfirst.dataset.transform = torch.abs\n"
        f"second.dataset.transform = torch.abs\n{LATER}",
    "two data sets":
        "first, second = Subset(Rows(), range(30)), Subset(Rows(), range(30, 40))\n"
        "first.dataset.transform = torch.sqrt\n"
        f"second.dataset.transform = torch.abs\n{LATER}",
    "rows that a method draws":
        "class Drawn(Stream):\n"
        "    def __iter__(self):\n"
        "        for i in range(20):\n            yield self.draw(), i % 3\n"
        "    def draw(self):\n        return torch.randn(6)\n\n\n"
        "fit(DataLoader(Drawn(20), 10, num_workers=2))",
    "one worker": "fit(DataLoader(Stream(20), 10, num_workers=1))",
    "no worker": "fit(DataLoader(Stream(20), 10))",
    "a share by the worker's number":
        "class Shared(Stream):\n"
        "    def __iter__(self):\n"
        "        info = torch.utils.data.get_worker_info()\n"
        "        for row in range(info.id if info else 0, 20, 2):\n"
        "            yield torch.full((6,), 1.0 * row), row % 3\n\n\n"
        "fit(DataLoader(Shared(20), 10, num_workers=2))",
    "a shard of a library":
        "class Shards(Stream):\n"
        "    def __iter__(self):\n"
        "        for row in self.rows.shard(2, 0):\n"
        "            yield torch.full((6,), 1.0 * row), row % 3\n\n\n"
        "class Library(list):\n"
        "    shard = property(lambda self: lambda count, number: self[number::count])"
        "\n\n\nfit(DataLoader(Shards(Library(range(20))), 10, num_workers=2))",
    "drawn by NumPy":
        "class Counts(IterableDataset):\n"
        "    def __iter__(self):\n"
        "        for row in np.random.poisson(3.0, size=20):\n"
        "            yield torch.full((6,), 1.0 * row), row % 3\n\n\n"
        "fit(DataLoader(Counts(), 10, num_workers=2))",
    "a share for each worker":
        "def divide(number):\n"
        "    info = torch.utils.data.get_worker_info()\n"
        "    info.dataset.rows = info.dataset.rows // info.num_workers\n\n\n"
        "fit(DataLoader(Stream(20), 10, num_workers=2, worker_init_fn=divide))",
    "drawn elsewhere":
        "def draw():\n    return torch.rand(6), 1\n\n\n"
        "class Draws(IterableDataset):\n"
        "    def __iter__(self):\n"
        "        for _ in range(20):\n"
        "            yield draw()\n\n\n"
        "fit(DataLoader(Draws(), 10, num_workers=2))",
    "a source that may divide itself":
        "class Source:\n"
        "    def __iter__(self):\n"
        "        return iter([(torch.zeros(6), 1)] * 20)\n\n\n"
        "class Mapped(IterableDataset):\n"
        "    def __init__(self):\n"
        "        self.source = Source()\n\n"
        "    def __iter__(self):\n"
        "        for x, y in self.source:\n"
        "            yield x * 2, y\n\n\n"
        "fit(DataLoader(Mapped(), 10, num_workers=2))",
    "draws":
        "class Draws(IterableDataset):\n"
        "    def __iter__(self):\n"
        "        for _ in range(20):\n"
        "            yield torch.rand(6), 1\n\n\n"
        "fit(DataLoader(Draws(), 10, num_workers=2))",
    "items by number": "fit(DataLoader(rows, 10, num_workers=2))",
    "in order":
        TRAIN + "loader = DataLoader(rows, 10)\nguesses, _ = predict(loader)\n"
        "table = dict(zip(rows.names, guesses.tolist()))",
    "collected truths":
        TRAIN + "loader = DataLoader(rows, 10, shuffle=True)\n"
        "guesses, truths = predict(loader)\nright = (guesses == truths).sum()\n"
        "pairs = list(zip(rows.classes, guesses.tolist()))",
    "one class":
        TRAIN + "rows.first = 0\nloader = DataLoader(rows, 10, shuffle=True)\n"
        "guesses, _ = predict(loader)\ncount = (guesses == rows.first).sum()",
    "put back":
        TRAIN + "loader = DataLoader(rows, 10, shuffle=True)\n"
        "guesses, order = predict(loader)\nguesses = guesses[order.argsort()]\n"
        "right = (guesses == rows.targets).sum()",
    "another loader":
        TRAIN + "loader = DataLoader(rows, 10, shuffle=True)\nfit(loader)\n"
        "plain = DataLoader(rows, 10)\nguesses, _ = predict(plain)\n"
        "right = (guesses == rows.targets).sum()",
}  # fmt: skip
CODES = {code for code, _ in WRONG.values()}


def find_codes(folder: Path, body: str) -> set[str]:
    report = rehearsed(folder, BEFORE + dedent(body))
    assert report.complete, report
    return {finding.code for finding in report.findings} & CODES


@pytest.mark.parametrize("name", WRONG)
def test_each_mistake_is_found(name: str, tmp_path: Path) -> None:
    code, body = WRONG[name]
    assert find_codes(tmp_path, body) == {code}


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, RIGHT[name]) == set()


EDITS = {
    "two permutations": "`order = torch.randperm(40)` for both",
    "named permutations": "`a` for both",
    "orders of NumPy": "`order = np.random.permutation(40)` for both",
    "arrays": "`order = np.random.permutation(40)` for both",
    "transforms of parts": "`second.dataset = copy.copy(second.dataset)`",
    "zipped names": "`shuffle=False`",
}


@pytest.mark.parametrize("name", EDITS)
def test_the_edit_is_tried(name: str, tmp_path: Path) -> None:
    code, body = WRONG[name]
    report = rehearsed(tmp_path, BEFORE + body)
    (finding,) = [f for f in report.findings if f.code == code]
    assert finding.fixes[0].message == EDITS[name]
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", [name for name in WRONG if "drawn before" in name])
def test_each_worker_gets_a_share_by_an_edit(name: str, tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, BEFORE + WRONG[name][1]).findings
    (fix,) = finding.fixes
    share = "range(start, len(self.rows), step)"
    if "list" in name:
        share = "itertools.islice(self.rows, start, None, step)"
    assert fix.checked
    assert share in fix.message
