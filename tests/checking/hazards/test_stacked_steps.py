"""Outputs that a decoder stacks with the steps first, beside targets that have the
samples first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import PAIRED_ROWS
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random

import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.cell = nn.Embedding(9, 8), nn.GRUCell(8, 8)
        self.out = nn.Linear(8, 9)

    def forward(self, target):
        token = torch.full((target.size(0),), 1)
        state = torch.zeros(target.size(0), 8)
        COLLECT
        for t in range(target.size(1)):
            state = self.cell(self.emb(token), state)
            scores = self.out(state)
            KEEP
            token = target[:, t] if random.random() < 0.5 else scores.argmax(-1)
        return RETURN


target = torch.tensor([[3] * 5 for _ in range(12)])
scores = Decoder()(target)
F.cross_entropy(scores.reshape(-1, 9), TARGET.reshape(-1)).backward()
"""
LISTED = ("kept = []", "kept.append(scores)")
WRITTEN = ("kept = torch.zeros(target.size(1), target.size(0), 9)", "kept[t] = scores")


def count_pairs(folder: Path, ways: tuple[str, str], back: str, target: str) -> int:
    """Return how many losses are told whose rows meet those of others."""
    words = dict(zip(("COLLECT", "KEEP"), ways, strict=True))
    text = SCRIPT
    for word, new in {**words, "RETURN": back, "TARGET": target}.items():
        text = text.replace(word, new)
    findings = rehearsed(folder, text).findings
    return [finding.code for finding in findings].count(PAIRED_ROWS)


@pytest.mark.parametrize(
    ("ways", "back"), [(LISTED, "torch.stack(kept)"), (WRITTEN, "kept")]
)
def test_steps_that_come_first(
    ways: tuple[str, str], back: str, tmp_path: Path
) -> None:
    assert count_pairs(tmp_path, ways, back, "target") == 1


@pytest.mark.parametrize(
    ("ways", "back", "target"),
    [
        (LISTED, "torch.stack(kept, dim=1)", "target"),
        (LISTED, "torch.stack(kept)", "target.t()"),
        (LISTED, "torch.stack(kept).transpose(0, 1)", "target"),
        (WRITTEN, "kept", "target.t()"),
        (WRITTEN, "kept.permute(1, 0, 2)", "target"),
    ],
)
def test_rows_in_the_same_order(
    ways: tuple[str, str], back: str, target: str, tmp_path: Path
) -> None:
    assert not count_pairs(tmp_path, ways, back, target)
