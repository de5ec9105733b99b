"""Tokens that are numbered from 0 and filled up with 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Visits(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        numbers = [(FIRST) + n // 2 for n in range(3 + i % 5)]
        return torch.tensor(numbers), float(i % 2)


def collate(items):
    rows, labels = zip(*items)
    visits = pad_sequence(rows, batch_first=True, padding_value=FILL)
    return visits, torch.tensor(labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 8LAYER)
        self.head = nn.Linear(8, 1)

    def forward(self, visits):
        keep = KEEP
        return self.head((self.embedding(visits) * keep).sum(1))[:, 0]


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for visits, labels in DataLoader(Visits(), batch_size=6, collate_fn=collate):
    loss = nn.functional.binary_cross_entropy_with_logits(model(visits), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def find_fixes(folder: Path, first: str, fill: str, layer: str, keep: str) -> list[str]:
    text = SCRIPT.replace("FIRST", first).replace("FILL", fill)
    text = text.replace("LAYER", layer).replace("KEEP", keep)
    return [
        finding.fixes[0].message
        for finding in rehearsed(folder, text).findings
        if finding.code == "padding-as-token"
    ]


@pytest.mark.parametrize(
    ("layer", "keep"),
    [(", padding_idx=0", "1.0"), ("", "(visits != 0).unsqueeze(-1)")],
    ids=["embedding", "mask"],
)
def test_a_token_that_is_padding_is_told(layer: str, keep: str, tmp_path: Path) -> None:
    assert find_fixes(tmp_path, "0", "0", layer, keep) == [
        "`torch.tensor(numbers) + 1`"
    ]


@pytest.mark.parametrize(
    ("first", "fill", "layer", "keep"),
    [
        ("1", "0", ", padding_idx=0", "1.0"),
        ("0", "11", ", padding_idx=11", "(visits != 11).unsqueeze(-1)"),
        ("0", "0", "", "1.0"),
        ("i % 2", "0", ", padding_idx=0", "1.0"),
    ],
    ids=["from one", "another number", "no padding", "not in each row"],
)
def test_other_numbers_are_quiet(
    first: str, fill: str, layer: str, keep: str, tmp_path: Path
) -> None:
    assert find_fixes(tmp_path, first, fill, layer, keep) == []
