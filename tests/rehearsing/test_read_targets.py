"""Decoders that read, at each step, the token that they are to predict."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, words=30, width=16):
        super().__init__()
        self.source = nn.Embedding(words, width)
        self.target = nn.Embedding(words, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.cell = nn.{cell}(width, width)
        self.out = nn.Linear(width, words)

    def forward(self, source, target):
        h = self.read(self.source(source))[1][0]
        scores = []
        for t in range({steps}):
            h = self.cell(self.target({token}), h)
            scores.append(self.out(h))
        return torch.stack(scores, 1)


net = Translator()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    source, target = torch.randint(0, 30, (8, 9)), torch.randint(0, 30, (8, 7))
    scores = net(source, target)
    loss = nn.functional.cross_entropy(
        scores.reshape(-1, 30), target[:, 1:].reshape(-1)
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
RIGHT = {
    "from the second": ("1, target.size(1)", "target[:, t - 1]"),
    "from the first": ("target.size(1) - 1", "target[:, t]"),
}


@pytest.mark.parametrize("cell", ["GRUCell", "RNNCell"])
def test_a_step_that_reads_its_target_is_found(cell: str, tmp_path: Path) -> None:
    text = SCRIPT.format(cell=cell, steps="1, target.size(1)", token="target[:, t]")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "unshifted-target"
    assert [edit.message for edit in finding.fixes] == ["`target[:, t - 1]`"]


@pytest.mark.parametrize("case", RIGHT)
def test_a_step_that_reads_the_token_before_is_right(case: str, tmp_path: Path) -> None:
    steps, token = RIGHT[case]
    text = SCRIPT.format(cell="GRUCell", steps=steps, token=token)
    assert not rehearsed(tmp_path, text).findings
