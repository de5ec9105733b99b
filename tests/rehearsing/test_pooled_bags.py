"""Bags of several sizes that a model pools as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Bags(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        bag = torch.randn(10 + 3 * i, 6)
        return bag, i % 2


class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(6, 1)
        self.order = nn.GRU(6, 6, batch_first=True)
        self.out = nn.Linear(6, 2)

    def forward(self, bag):
        POOL
        return self.out(pooled)


settings = {"batch_size": 3}
model = Pooling()
optimizer = torch.optim.Adam(model.parameters())
loader = DataLoader(Bags(), batch_size=SIZE, shuffle=True)
for bag, label in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(bag), label).backward()
    optimizer.step()
"""
SOFTMAX = """\
share = torch.softmax(self.score(bag), dim=1)
        pooled = (share * bag).sum(1)"""
TURNED = """\
share = torch.softmax(self.score(bag).transpose(1, 2), dim=-1)
        pooled = (share @ bag)[:, 0]"""
MEAN = "pooled = bag.mean(1)"
MASKED = """\
score = self.score(bag).masked_fill((bag == 0).all(-1, keepdim=True), -1e9)
        pooled = (torch.softmax(score, dim=1) * bag).sum(1)"""
IN_ORDER = """\
steps, _ = self.order(bag)
        pooled = steps.mean(1)"""
LARGEST = "pooled = bag.max(1).values"


def list_edits(folder: Path, pool: str, size: str) -> tuple[list[str], list[str]]:
    """The edits for the items that do not stack, and what its places say."""
    text = PROGRAM.replace("POOL", pool).replace("SIZE", size)
    findings = rehearsed(folder, text).findings
    (finding,) = (f for f in findings if f.code == "items-do-not-stack")
    return [fix.message for fix in finding.fixes], [
        place.message for place in finding.related
    ]


@pytest.mark.parametrize(
    ("pool", "size", "items"),
    [
        (SOFTMAX, "4", 4),
        (SOFTMAX, 'settings["batch_size"]', 3),
        (TURNED, "4", 4),
        (MEAN, "2", 2),
    ],
)
def test_a_batch_is_one_bag(tmp_path: Path, pool: str, size: str, items: int) -> None:
    edits, places = list_edits(tmp_path, pool, size)
    assert edits == ["`batch_size=1`"]
    assert any(f"`batch_size` is {items}" in place for place in places)


@pytest.mark.parametrize("pool", [MASKED, IN_ORDER, LARGEST, MEAN])
def test_sequences_and_masked_bags_are_padded(tmp_path: Path, pool: str) -> None:
    edits, places = list_edits(tmp_path, pool, "4")
    assert "pads `bag`" in edits[0]
    assert not any("batch_size" in place for place in places)
