"""Models of transformers that are given no labels, and whose loss is None."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytest.importorskip("transformers")

PROGRAM = """\
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import BertConfig, BertForSequenceClassification

class Texts(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        ids = torch.arange(6) + i
        {}

config = BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=16, num_labels=3,
)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters())
{}
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
DICT = 'return {"input_ids": ids, "label": torch.tensor(i % 3)}'
TUPLE = "return ids, torch.tensor(i % 3)"
LOADER = "DataLoader(Texts(), batch_size=4)"


@pytest.mark.parametrize(
    ("items", "lines", "fix"),
    [
        (
            DICT,
            'for batch in LOADER:\n    gold = batch.pop("label")\n'
            "    out = model(**batch)\n    loss = out.loss",
            "`model(**batch, labels=gold)`",
        ),
        (
            TUPLE,
            "for ids, labels in LOADER:\n    loss = model(ids).loss",
            "`model(ids, labels=labels)`",
        ),
        (
            DICT,
            'for batch in LOADER:\n    out = model(batch["input_ids"])\n'
            "    loss = out.loss",
            '`model(batch["input_ids"], labels=batch["label"])`',
        ),
    ],
)
def test_the_labels_at_hand_are_given(
    tmp_path: Path, items: str, lines: str, fix: str
) -> None:
    text = PROGRAM.format(items, lines.replace("LOADER", LOADER))
    (error,) = rehearsed(tmp_path, text).findings
    assert "without `labels` the model computes no loss" in error.message
    assert error.fixes[0].message == fix
    assert error.fixes[0].checked


def test_labels_that_are_given_are_no_mistake(tmp_path: Path) -> None:
    lines = "for ids, labels in LOADER:\n    loss = model(ids, labels=labels).loss"
    text = PROGRAM.format(TUPLE, lines.replace("LOADER", LOADER))
    assert not rehearsed(tmp_path, text).findings
