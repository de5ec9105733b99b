"""Means over the steps of embeddings whose sequences were filled up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

items = [torch.arange(1, 4 + n % 5) for n in range(40)]

def collate(rows):
    lengths = torch.tensor([len(row) for row in rows])
    return pad_sequence(rows{first}), lengths

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 6, padding_idx=0)
        self.rnn, self.head = nn.GRU(6, 6), nn.Linear(6, 2)

    def forward(self, ids, lengths):
        states = self.table(ids)
        {mean}
        return self.head(mean)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for ids, lengths in DataLoader(items, 8, collate_fn=collate):
    optimizer.zero_grad()
    net(ids, lengths).pow(2).mean().backward()
    optimizer.step()
"""
FIRST = ", batch_first=True"
WRONG = {
    "time first": ("", "mean = states.mean(dim=0)"),
    "batch first": (FIRST, "mean = states.mean(1)"),
    "torch.mean": (FIRST, "mean = torch.mean(states, dim=1)"),
}
RIGHT = {
    "masked": (
        FIRST,
        "kept = (ids != 0).unsqueeze(-1); mean = (states * kept).sum(1) / kept.sum(1)",
    ),
    "divided by the lengths": (
        "",
        "mean = states.sum(dim=0) / lengths.unsqueeze(1)",
    ),
    "over the features": (FIRST, "mean = states + states.mean(2, keepdim=True)"),
    "over the samples": ("", "mean = states - states.mean(dim=1, keepdim=True)"),
    "behind a recurrent layer": ("", "mean = self.rnn(states)[0].mean(dim=0)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mean_that_counts_padding_is_found(name: str, tmp_path: Path) -> None:
    first, mean = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(first=first, mean=mean))
    assert report.findings[0].code == "padded-mean"


@pytest.mark.parametrize("name", RIGHT)
def test_other_means_are_quiet(name: str, tmp_path: Path) -> None:
    first, mean = RIGHT[name]
    report = rehearsed(tmp_path, SCRIPT.format(first=first, mean=mean))
    assert "padded-mean" not in [finding.code for finding in report.findings]
