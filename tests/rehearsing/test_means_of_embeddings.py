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


UNPACKED = """\
packed = pack_padded_sequence(states, lengths, enforce_sorted=False{first})
        states, sizes = pad_packed_sequence(self.rnn(packed)[0]{first})
        """
MEANS = {
    "batch first": (
        FIRST,
        "mean = states.mean(dim=1)",
        "`states.sum(dim=1) / sizes.unsqueeze(1).to(states.device)`",
    ),
    "time first": (
        "",
        "mean = torch.mean(states, 0)",
        "`states.sum(dim=0) / sizes.unsqueeze(1).to(states.device)`",
    ),
    "behind dropout": (FIRST, "mean = torch.dropout(states, 0.1, True).mean(1)", ""),
}
OTHER_MEANS = {
    "divided by the lengths": (
        FIRST, "mean = states.sum(dim=1) / sizes.unsqueeze(1)"
    ),
    "masked": (
        FIRST,
        "kept = (ids != 0).unsqueeze(-1); mean = (states * kept).sum(1) / kept.sum(1)",
    ),
    "multiplied again": (
        FIRST, "mean = states.mean(1) * states.size(1) / sizes.unsqueeze(1)"
    ),
    "over the features": (FIRST, "mean = states - states.mean(2, keepdim=True)"),
    "the greatest": (FIRST, "mean = states.amax(1)"),
}  # fmt: skip


def _write_unpacked(first: str, mean: str) -> str:
    """A script that packs its sequences, and means what is unpacked."""
    imported = "pack_padded_sequence, pad_packed_sequence, pad_sequence"
    script = SCRIPT.format(first=first, mean=UNPACKED.format(first=first) + mean)
    script = script.replace("import pad_sequence", f"import {imported}")
    return script.replace("nn.GRU(6, 6)", f"nn.GRU(6, 6{first})")


@pytest.mark.parametrize("name", MEANS)
def test_a_mean_of_unpacked_steps_is_found(name: str, tmp_path: Path) -> None:
    first, mean, fix = MEANS[name]
    report = rehearsed(tmp_path, _write_unpacked(first, mean))
    (finding,) = report.findings
    assert finding.code == "padded-mean"
    assert [each.message for each in finding.fixes] == [fix] * bool(fix)


@pytest.mark.parametrize("name", OTHER_MEANS)
def test_other_means_of_unpacked_steps_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write_unpacked(*OTHER_MEANS[name]))
    assert not report.findings
