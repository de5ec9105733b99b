"""Causal masks that show the token which a model has to predict."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randint(0, 30, (64, 9)))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.attn = nn.Embedding(30, 8), nn.MultiheadAttention(8, 2)
        self.q, self.k, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, {n})
        self.register_buffer("tril", torch.tril(torch.ones(20, 20), diagonal=1))

    def forward(self, ids):
        x, T = self.emb(ids), ids.size(1)
        ones = torch.ones(T, T)
        scores = self.q(x) @ self.k(x).transpose(1, 2)
{body}
        return self.head(x)


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (ids,) in DataLoader(data, batch_size=16):
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten() % {n})
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FILL = "x = scores.masked_fill(hidden, -1e9).softmax(-1) @ x"
HEADS = (
    "x = x.transpose(0, 1)\nx = self.attn(x, x, x, attn_mask=hidden)[0].transpose(0, 1)"
)
FUSED = "x = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)"
WRONG = {
    "tril": "hidden = torch.tril(ones, diagonal=1) == 0\n" + FILL,
    "triu": "hidden = torch.triu(ones, diagonal=2).bool()\n" + FILL,
    "a buffer": "hidden = self.tril[:T, :T] == 0\n" + FILL,
    "heads": "hidden = torch.triu(ones, 2) == 1\n" + HEADS,
    "transposed": "hidden = ~(torch.triu(ones, -1) == 1).t()\n" + FILL,
    "fused": "mask = torch.tril(ones.bool(), 1)\n" + FUSED,
    "numbers": "hidden = torch.triu(torch.full((T, T), float('-inf')), 2)\n"
               "x = (scores + hidden).softmax(-1) @ x",
    "numbers for heads":
        "hidden = torch.triu(torch.full((T, T), float('-inf')), diagonal=2)\n" + HEADS,
    "a mask of two fills":
        "seen = torch.tril(ones, 1)\n"
        "hidden = seen.masked_fill(seen == 0, -1e9).masked_fill(seen == 1, 0.0)\n"
        + HEADS,
}  # fmt: skip
RIGHT = {
    "tril": "hidden = torch.tril(ones) == 0\n" + FILL,
    "triu": "hidden = torch.triu(ones, 1).bool()\n" + FILL,
    "transposed": "hidden = ~(torch.triu(ones) == 1).t()\n" + FILL,
    "heads": "hidden = torch.triu(ones, 1) == 1\n" + HEADS,
    "fused": "mask = torch.tril(ones.bool())\n" + FUSED,
    "a band": "hidden = (torch.tril(ones, 1) * torch.triu(ones, -1)) == 0\n" + FILL,
    "far ahead": "hidden = torch.tril(ones, 3) == 0\n" + FILL,
    "numbers": "hidden = torch.triu(torch.full((T, T), float('-inf')), 1)\n"
               "x = (scores + hidden).softmax(-1) @ x",
    "ranges": "i = torch.arange(T)\nhidden = i[None] > i[:, None]\n" + FILL,
}  # fmt: skip


def find_codes(folder: Path, body: str, classes: int = 30) -> list[str]:
    text = SCRIPT.format(body=indent(body, " " * 8), n=classes)
    report = rehearsed(folder, text)
    assert report.complete, report
    return [f.code for f in report.findings if f.code == "mask-axis"]


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_that_shows_the_next_token_is_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, WRONG[name]) == ["mask-axis"]


@pytest.mark.parametrize("name", RIGHT)
def test_other_triangles_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, RIGHT[name]) == []


def test_a_tagger_may_look_one_token_ahead(tmp_path: Path) -> None:
    assert find_codes(tmp_path, WRONG["tril"], classes=5) == []


def test_the_edit_moves_the_diagonal(tmp_path: Path) -> None:
    text = SCRIPT.format(body=indent(WRONG["tril"], " " * 8), n=30)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "mask-axis"]
    assert finding.fixes[0].message == "`diagonal=0` for `tril`"
    assert finding.fixes[0].checked
