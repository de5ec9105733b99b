"""Masks of padding that are true where the words are, and those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(8, 3)

    def forward(self, ids, lengths, attention_mask):
        x = self.embed(ids)
        steps = torch.arange(ids.size(1))
        x = self.encoder(x, src_key_padding_mask={mask})
        return self.out(x[:, 0])


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ids, lengths = torch.randint(1, 20, (4, 7)), torch.tensor([7, 5, 3, 2])
attention_mask = torch.ones(4, 7)
for row, length in enumerate([7, 5, 3, 2]):
    ids[row, length:] = 0
    attention_mask[row, length:] = 0
for _ in range(2):
    optimizer.zero_grad()
    scores = model(ids, lengths, attention_mask)
    F.cross_entropy(scores, torch.tensor([0, 1, 2, 0])).backward()
    optimizer.step()
"""
WRONG = (
    "ids != 0",
    "ids.ne(0)",
    "~(ids == 0)",
    "steps[None] < lengths[:, None]",
    "attention_mask.bool()",
    "attention_mask == 1",
)
RIGHT = (
    "ids == 0",
    "~(ids != 0)",
    "steps[None] >= lengths[:, None]",
    "attention_mask == 0",
    "~attention_mask.bool()",
    "(1 - attention_mask).bool()",
    "ids == 3",
)


@pytest.mark.parametrize("mask", WRONG)
def test_a_mask_that_hides_the_words_is_found(mask: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(mask=mask))
    assert [f.code for f in report.findings] == ["mask-axis"]


@pytest.mark.parametrize("mask", RIGHT)
def test_a_mask_that_hides_padding_is_quiet(mask: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(mask=mask))
    assert not [f for f in report.findings if f.code == "mask-axis"]
