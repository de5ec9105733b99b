"""A table with fewer rows than a vocabulary in sight counts tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TABLES = """\
import torch
from torch import nn

class Config:
    vocab_size = {rows}

class Tokenizer:
    def __init__(self, words):
        self.words = dict(zip(words, range(len(words))))
    def __len__(self):
        return len(self.words)
    def encode(self, text):
        return torch.tensor([[self.words[word] for word in text.split()]])

class Tagger(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, 8)
    def forward(self, ids):
        return self.words(ids)

def main(config):
    text = "the cat sat on the mat"
    {vocabulary}
    model = Tagger(config)
    for step in range(2):
        model({ids}).sum().backward()

main(Config())
"""
OF_DICT = "vocab = {word: n for n, word in enumerate(sorted(set(text.split())))}"


@pytest.mark.parametrize(
    ("vocabulary", "ids", "name"),
    [
        (
            "tokenizer = Tokenizer(sorted(set(text.split())))",
            "tokenizer.encode(text)",
            "tokenizer",
        ),
        (OF_DICT, "torch.tensor([[vocab[word] for word in text.split()]])", "vocab"),
    ],
)
def test_the_vocabulary_that_counts_more_is_named_with_its_number(
    vocabulary: str, ids: str, name: str, tmp_path: Path
) -> None:
    text = TABLES.format(rows=3, vocabulary=vocabulary, ids=ids)
    (finding,) = rehearsed(tmp_path, text).findings
    first = finding.related[0]
    assert (first.message, first.span.line) == (f"`len({name})` is 5, more than 3", 24)
    assert "3 is set by `vocab_size = 3`" in [r.message for r in finding.related]


@pytest.mark.parametrize(
    ("vocabulary", "ids"),
    [
        ("counts = dict.fromkeys(range(9))", "torch.tensor([[4]])"),
        ("vocab = {0: 1, 1: 2}", "torch.tensor([[4]])"),
        ("vocab = dict.fromkeys(range(9)); tok = 2 * [vocab]", "torch.tensor([[11]])"),
    ],
)
def test_what_does_not_number_the_tokens_is_not_named(
    vocabulary: str, ids: str, tmp_path: Path
) -> None:
    text = TABLES.format(rows=3, vocabulary=vocabulary, ids=ids)
    (finding,) = rehearsed(tmp_path, text).findings
    assert not [r for r in finding.related if "len(" in r.message]
