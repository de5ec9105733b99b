"""Sequences longer than a model has positions: cut where they are encoded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Embeddings(nn.Module):
    def __init__(self, words=50, positions=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(words, 8)
        self.position_embeddings = nn.Embedding(positions, 8)
        self.register_buffer("position_ids", torch.arange(positions).unsqueeze(0))

    def forward(self, ids):
        return self.word_embeddings(ids) + {positions}

def encode(text, max_length=None):
    ids = [len(word) for word in text.split()]
    return ids if max_length is None else ids[:max_length]

model = nn.Sequential(Embeddings(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
texts = ["a few words", "word " * {count}]
for text in texts:
    ids = torch.tensor([{encoded}])
    optimizer.zero_grad()
    model(ids).mean().backward()
    optimizer.step()
"""
ALL = "self.position_embeddings(self.position_ids[:, :ids.size(1)])"
COUNTED = "self.position_embeddings(torch.arange(ids.size(1)))"


@pytest.mark.parametrize("positions", [ALL, COUNTED])
def test_the_sequences_are_cut_where_they_are_encoded(
    tmp_path: Path, positions: str
) -> None:
    text = PROGRAM.format(positions=positions, count=20, encoded="encode(text)")
    (finding,) = rehearsed(tmp_path, text).findings
    assert "the sequences have up to 20 tokens, and `Sequential` has 16 positions" in (
        finding.message
    )
    assert finding.fixes[0].message == "`encode(text, max_length=16)`"
    assert finding.fixes[0].checked


def test_sequences_that_fit_are_quiet(tmp_path: Path) -> None:
    text = PROGRAM.format(positions=ALL, count=16, encoded="encode(text)")
    assert rehearsed(tmp_path, text).findings == ()
