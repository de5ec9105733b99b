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


EDITS = {"ids != 0": "`ids == 0`", "~(ids == 0)": "`ids == 0`"}

BY_HAND = """\
import torch
from torch import nn
from torch.nn import functional as F


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.q, self.k = nn.Linear(8, 8), nn.Linear(8, 8)
        self.out = nn.Linear(8, 3)

    def attend(self, x, mask):
        q = self.q(x).view(4, 7, 2, 4).transpose(1, 2)
        k = self.k(x).view(4, 7, 2, 4).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / 2
        weights = scores.masked_fill({fill}, float("-inf")).softmax(-1)
        return (weights @ q).transpose(1, 2).reshape(4, 7, 8)

    def forward(self, ids):
        mask = {mask}
        return self.out(self.attend(self.embed(ids), mask[:, None, None])[:, 0])


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ids = torch.randint(1, 20, (4, 7))
for row, length in enumerate([7, 5, 3, 2]):
    ids[row, length:] = 0
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(ids), torch.tensor([0, 1, 2, 0])).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("mask", WRONG)
def test_a_mask_that_hides_the_words_is_found(mask: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(mask=mask))
    (finding,) = report.findings
    assert finding.code == "mask-axis"
    if mask in EDITS:
        assert [fix.message for fix in finding.fixes] == [EDITS[mask]]


@pytest.mark.parametrize(
    ("mask", "fill", "edit"),
    [
        ("ids == 0", "mask == False", "`mask`"),
        ("ids == 0", "~mask", "`mask`"),
        ("ids == 0", "mask == 0", "`mask`"),
        ("ids != 0", "mask", "`ids == 0`"),
        ("ids == 0", "torch.logical_not(mask)", "`mask`"),
        ("ids == 0", "mask", ""),
        ("ids != 0", "mask == 0", ""),
        ("ids != 0", "~mask", ""),
        ("(ids == 0) == False", "mask == False", ""),
    ],
)
def test_attention_by_hand(mask: str, fill: str, edit: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, BY_HAND.format(mask=mask, fill=fill))
    found = [f for f in report.findings if f.code == "mask-axis"]
    assert [fix.message for f in found for fix in f.fixes] == [edit] * bool(edit)
    assert len(found) == bool(edit)


@pytest.mark.parametrize("mask", RIGHT)
def test_a_mask_that_hides_padding_is_quiet(mask: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(mask=mask))
    assert not [f for f in report.findings if f.code == "mask-axis"]


COLLATED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(8, 3)

    def forward(self, x, mask):
        return self.out(self.encoder(x, src_key_padding_mask={mask}))


def collate(rows):
    width = max(len(row) for row in rows)
    data = torch.zeros(len(rows), width, 8)
    mask = torch.{maker}(len(rows), width, dtype=torch.bool)
    for i, row in enumerate(rows):
        n = len(row)
        data[i, :n] = row
        {write}
    return data, mask


model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = [torch.randn(3 + i % 4, 8) for i in range(12)]
for data, mask in DataLoader(rows, batch_size=4, collate_fn=collate):
    optimizer.zero_grad()
    model(data, mask).square().mean().backward()
    optimizer.step()
"""
BY_ROWS = {
    "true where the data is": ("mask", "zeros", "mask[i, :n] = True", True),
    "inverted twice": ("~mask", "ones", "mask[i, :n] = False", True),
    "false where the data is": ("mask", "ones", "mask[i, :n] = False", False),
    "inverted where it is read": ("~mask", "zeros", "mask[i, :n] = True", False),
    "true where the padding is": ("mask", "zeros", "mask[i, n:] = True", False),
}


@pytest.mark.parametrize("case", BY_ROWS)
def test_masks_that_are_filled_by_rows(case: str, tmp_path: Path) -> None:
    mask, maker, write, is_wrong = BY_ROWS[case]
    text = COLLATED.format(mask=mask, maker=maker, write=write)
    findings = [f for f in rehearsed(tmp_path, text).findings if f.code == "mask-axis"]
    assert len(findings) == is_wrong
    if case == "true where the data is":
        (fix,) = findings[0].fixes
        assert fix.message == "`mask[i, :n] = False` in `torch.ones(...)`"
