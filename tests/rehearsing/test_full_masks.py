"""Attention masks of ones over tokens that a program fills up to one length."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import BertConfig, {model}

PAD = 0
random.seed(0)

def make(n):
    rows = []
    for _ in range(n):
        row = [random.randrange(1, 30) for _ in range(random.randint(3, 9))]
        rows.append((row, row[0] % 2))
    return rows

def collate(rows):
    longest = max(len(x) for x, _ in rows)
    labels = torch.tensor([y for _, y in rows])
    batch, masks = [], []
    for row, _ in rows:
        room = longest - len(row)
        {fill}
    ids = {ids}
    mask = {mask}
    return ids, mask, labels

config = BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=1,
                    num_attention_heads=2, intermediate_size=16)
bert, head = {model}(config), nn.Linear(16, 2)
optimizer = torch.optim.SGD([*bert.parameters(), *head.parameters()], lr=0.1)
for ids, mask, labels in DataLoader(make(16), 4, collate_fn=collate):
    out = bert({call})
    loss = nn.functional.cross_entropy({scores}, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FILLED = "batch.append(row + [PAD] * room)"
LISTS = {
    "fill": FILLED,
    "ids": "torch.tensor(batch)",
    "mask": "torch.tensor(masks)",
    "call": "ids, attention_mask=mask",
    "model": "BertModel",
    "scores": "head(out.pooler_output)",
}
ROWS = "pad_sequence([torch.tensor(x) for x, _ in rows], batch_first=True)"
WRONG = {
    "lists": (
        {"fill": FILLED + "; masks.append([1] * longest)"},
        "[1] * len(row) + [0] * room",
    ),
    "a name that is filled": (
        {"fill": "row = row + [PAD] * room; batch.append(row);"
                 " masks.append([1] * len(row))"},
        "[int(token != PAD) for token in row]",
    ),
    "like the tokens": ({"mask": "torch.ones_like(ids)"}, "(ids != 0).long()"),
    "of the shape": (
        {"mask": "torch.ones(ids.shape, dtype=torch.long)"},
        "(ids != 0).long()",
    ),
    "padded by torch": (
        {"mask": "torch.ones_like(ids)", "ids": ROWS},
        "(ids != 0).long()",
    ),
    "by position": (
        {"mask": "torch.ones_like(ids)", "call": "ids, mask"},
        "(ids != 0).long()",
    ),
}  # fmt: skip
RIGHT = {
    "lists": {"fill": FILLED + "; masks.append([1] * len(row) + [0] * room)"},
    "compared": {"mask": "(ids != PAD).long()"},
    "no padding": {
        "fill": "batch.append((row * 3)[:9])",
        "mask": "torch.ones_like(ids)",
    },
    "written": {"mask": "torch.ones_like(ids).masked_fill(ids == PAD, 0)"},
    "written in place": {"mask": "torch.ones_like(ids); mask[ids == PAD] = 0"},
    "padded too": {
        "mask": "pad_sequence([torch.ones(len(x)) for x, _ in rows], batch_first=True)",
    },
    "next tokens": {
        "mask": "torch.ones_like(ids)",
        "model": "BertLMHeadModel",
        "scores": "out.logits[:, 0, :2]",
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_masks_of_ones(tmp_path: Path, name: str) -> None:
    pytest.importorskip("transformers")
    parts, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT.format(**LISTS | parts)).findings
    (finding,) = [f for f in findings if f.code == "mask-axis"]
    assert "is 1 everywhere" in finding.message
    assert edit in str([fix.message for fix in finding.fixes])


@pytest.mark.parametrize("name", RIGHT)
def test_masks_of_tokens(tmp_path: Path, name: str) -> None:
    pytest.importorskip("transformers")
    text = SCRIPT.format(**LISTS | RIGHT[name])
    assert "is 1 everywhere" not in str(rehearsed(tmp_path, text).findings)
