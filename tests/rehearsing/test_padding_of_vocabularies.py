"""Masks with the padding of another vocabulary, beside comparisons with other ids."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SRC_PAD, TRG_PAD, EOS = 1, 0, 2
data = TensorDataset(torch.randint(0, 9, (32, 7)), torch.randint(0, 8, (32, 5)))


class Translator(nn.Module):
    def __init__(self, src_pad_idx, trg_pad_idx):
        super().__init__()
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.source = nn.Embedding(9, 4, padding_idx=src_pad_idx)
        self.target = nn.Embedding(8, 4, padding_idx=trg_pad_idx)

    def keep(self, tokens):
        return tokens.ne(self.src_pad_idx).unsqueeze(2)

    def forward(self, src, trg):
        a, b = self.source(src), self.target(trg)
{body}
        return (a * own).mean() + (b * other).mean()


model = Translator(SRC_PAD, TRG_PAD)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for src, trg in DataLoader(data, batch_size=8):
    loss = model(src, trg)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OWN = "own = (src != self.src_pad_idx)[..., None]\n"
WRONG = {
    "a method": "own, other = self.keep(src), self.keep(trg)",
    "an operator": OWN + "other = (trg != self.src_pad_idx)[..., None]",
    "a constant": OWN + "other = ~torch.eq(trg, SRC_PAD)[..., None]",
}
RIGHT = {
    "its own": OWN + "other = (trg != self.trg_pad_idx)[..., None]",
    "an end": OWN + "other = (trg != EOS)[..., None]",
    "a number": OWN + "other = (trg != 1)[..., None]",
    "both": OWN + "other = ((trg != TRG_PAD) & (trg != EOS))[..., None]",
}


def find_codes(folder: Path, body: str) -> list[str]:
    report = rehearsed(folder, SCRIPT.format(body=indent(body, " " * 8)))
    assert report.complete, report
    return [f.code for f in report.findings if f.code == "other-padding"]


@pytest.mark.parametrize("name", WRONG)
def test_the_padding_of_another_vocabulary_is_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, WRONG[name]) == ["other-padding"]


@pytest.mark.parametrize("name", RIGHT)
def test_other_comparisons_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, RIGHT[name]) == []
