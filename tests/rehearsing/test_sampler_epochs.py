"""Samplers that are not told the epoch, beside those that need not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

data = TensorDataset(torch.rand(64, 6), torch.randint(0, 3, (64,)))
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
distributed = True


def fit(model, batches):
    for step, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


@torch.no_grad()
def evaluate(loader):
    for x, y in loader:
        model(x)


def load(shuffle=True):
    sampler = DistributedSampler(data, num_replicas=2, rank=0, shuffle=shuffle)
    return DataLoader(data, 8, sampler=sampler)


"""
SAMPLER = "sampler = DistributedSampler(data, num_replicas=2, rank=0)\n"
LOADER = "loader = DataLoader(data, 8, sampler=sampler)\n"
TRAINED = """\
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
WRONG = {
    "in one file": (
        SAMPLER + LOADER + "for epoch in range(4):\n" + TRAINED,
        "sampler.set_epoch(epoch)",
    ),
    "in a function": (
        SAMPLER + LOADER + "for i in range(4):\n    fit(model, loader)",
        "sampler.set_epoch(i)",
    ),
    "a loader from a function": (
        "loader = load()\nfor epoch in range(4):\n" + TRAINED,
        "loader.sampler.set_epoch(epoch)",
    ),
    "a loader that is handed on": (
        "train_loader = load()\nfor epoch in range(4):\n"
        "    model.train()\n    fit(model, batches=train_loader)",
        "train_loader.sampler.set_epoch(epoch)",
    ),
    "only if distributed": (
        SAMPLER[:-1] + " if distributed else None\n"
        "loader = DataLoader(data, 8, sampler=sampler, shuffle=sampler is None)\n"
        "for epoch in range(4):\n    fit(model, loader)",
        "sampler.set_epoch(epoch)",
    ),
    "of batches": (
        "batches = BatchSampler(\n"
        "    DistributedSampler(data, num_replicas=2, rank=0), 8, False\n)\n"
        "loader = DataLoader(data, batch_sampler=batches)\n"
        "for epoch in range(4):\n    fit(model, loader)",
        "loader.batch_sampler.sampler.set_epoch(epoch)",
    ),
    "of an object": (
        "class Trainer:\n"
        "    def __init__(self):\n"
        "        self.sampler = DistributedSampler(data, num_replicas=2, rank=0)\n"
        "        self.loader = DataLoader(data, 8, sampler=self.sampler)\n\n"
        "    def run(self):\n"
        "        for epoch in range(4):\n"
        "            fit(model, self.loader)\n\n"
        "Trainer().run()",
        "self.sampler.set_epoch(epoch)",
    ),
}  # fmt: skip
RIGHT = {
    "told": SAMPLER + LOADER + "for epoch in range(4):\n"
        "    sampler.set_epoch(epoch)\n    fit(model, loader)",
    "told by the loader": "loader = load()\nfor epoch in range(4):\n"
        "    loader.sampler.set_epoch(epoch)\n    fit(model, loader)",
    "set by hand": SAMPLER + LOADER + "for epoch in range(4):\n"
        "    sampler.epoch = epoch\n    fit(model, loader)",
    "not shuffled": "loader = load(shuffle=False)\nfor epoch in range(4):\n"
        "    fit(model, loader)",
    "one epoch": "loader = load()\nfor epoch in range(1):\n    fit(model, loader)",
    "evaluated": SAMPLER + LOADER + "held = load()\nfor epoch in range(4):\n"
        "    sampler.set_epoch(epoch)\n    fit(model, loader)\n    evaluate(held)",
    "an order of its own":
        "class Ordered(DistributedSampler):\n"
        "    def __iter__(self):\n        return iter(torch.randperm(32).tolist())\n\n"
        "loader = DataLoader(data, 8, sampler=Ordered(data, num_replicas=2, rank=0))\n"
        "for epoch in range(4):\n    fit(model, loader)",
    "of several models":
        "loader = load()\nfor width in (4, 8, 16):\n"
        "    model = nn.Sequential(nn.Linear(6, width), nn.Linear(width, 3))\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    fit(model, loader)",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_sampler_without_an_epoch_is_found(name: str, tmp_path: Path) -> None:
    text, call = WRONG[name]
    report = rehearsed(tmp_path, BEFORE + text)
    (finding,) = report.findings
    assert finding.code == "epoch-not-set"
    lines = (BEFORE + text).splitlines()
    assert " in range(4)" in lines[finding.line - 1]
    places = {related.message: related.span.line for related in finding.related}
    built = lines[places["the sampler is built here"] - 1]
    assert "DistributedSampler(" in built
    assert [fix.message for fix in finding.fixes] == [f"`{call}`"]
    assert finding.fixes[0].checked
    assert finding.fixes[0].edits[0].span.line == finding.line + 1
    is_guarded = "is not None" in finding.fixes[0].edits[0].text
    assert is_guarded == (name == "only if distributed")


@pytest.mark.parametrize("name", RIGHT)
def test_other_samplers_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, BEFORE + RIGHT[name])
    assert report.complete, report
    assert "epoch-not-set" not in [finding.code for finding in report.findings]
