"""Seeds that are set again in each epoch, beside seeds that are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 7
data = TensorDataset(torch.rand(40, 6), torch.randint(0, 3, (40,)))


def build():
    model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(), nn.Linear(8, 3))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def fit(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def seed_all(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def fit_again(model, optimizer, loader):
    torch.manual_seed(SEED)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model):
    torch.manual_seed(SEED)
    return model(torch.randn(4, 6)).mean()


model, optimizer = build()
loader = DataLoader(data, 8, shuffle=True)
"""
WRONG = {
    "in the loop":
        "for epoch in range(3):\n    torch.manual_seed(0)\n"
        "    fit(model, optimizer, loader)",
    "in a function": "for epoch in range(3):\n    fit_again(model, optimizer, loader)",
    "by a function":
        "for epoch in range(3):\n    seed_all(SEED)\n    fit(model, optimizer, loader)",
    "with its GPUs":
        "for epoch in range(3):\n    torch.manual_seed(0)\n"
        "    torch.cuda.manual_seed_all(0)\n    fit(model, optimizer, loader)",
    "of GPUs": "for epoch in range(3):\n    torch.cuda.manual_seed_all(0)\n"
        "    fit(model, optimizer, loader)",
    "of no shuffled loader":
        "for epoch in range(3):\n    torch.manual_seed(seed=SEED)\n"
        "    fit(model, optimizer, DataLoader(data, 8))",
}  # fmt: skip
RIGHT = {
    "once": "torch.manual_seed(0)\nfor epoch in range(3):\n"
            "    fit(model, optimizer, loader)",
    "a seed for each epoch":
        "for epoch in range(3):\n    torch.manual_seed(SEED + epoch)\n"
        "    fit(model, optimizer, loader)",
    "an evaluation":
        "for epoch in range(3):\n    fit(model, optimizer, loader)\n"
        "    evaluate(model)",
    "only once": "for epoch in range(3):\n    if epoch == 0:\n"
        "        torch.manual_seed(0)\n    fit(model, optimizer, loader)",
    "a generator": "for epoch in range(3):\n"
        "    torch.Generator().manual_seed(0)\n    fit(model, optimizer, loader)",
    "put back": "for epoch in range(3):\n    with torch.random.fork_rng():\n"
        "        torch.manual_seed(0)\n        model(torch.randn(4, 6))\n"
        "    fit(model, optimizer, loader)",
    "an evaluation before": "for epoch in range(3):\n    evaluate(model)\n"
        "    fit(model, optimizer, loader)",
    "several trainings":
        "for run in range(3):\n    torch.manual_seed(0)\n"
        "    fit(*build(), DataLoader(data, 8, shuffle=True))",
    "nothing drawn":
        "model = nn.Linear(6, 3)\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for epoch in range(3):\n    torch.manual_seed(0)\n"
        "    fit(model, optimizer, DataLoader(data, 8))",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_seed_in_each_epoch_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, BEFORE + WRONG[name])
    (finding,) = [f for f in report.findings if f.code == "seed-repeated"]
    assert finding.fixes[0].message.endswith("left out")
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_other_seeds_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, BEFORE + RIGHT[name])
    assert report.complete, report
    assert "seed-repeated" not in [finding.code for finding in report.findings]
