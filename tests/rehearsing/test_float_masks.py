"""Masks of the numbers 0 and 1 that attention adds to its scores."""

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

data = TensorDataset(torch.randint(0, 30, (64, 9)), torch.randint(0, 5, (64,)))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8, padding_idx=0)
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.q, self.k, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 5)
        self.slope = nn.Parameter(torch.zeros(1))
        self.register_buffer("tril", torch.tril(torch.ones(20, 20)))

    def forward(self, ids):
        x, T = self.emb(ids), ids.size(1)
        ones = torch.ones(T, T)
        scores = self.q(x) @ self.k(x).transpose(1, 2)
{body}
        return self.head(x.amax(1))


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for ids, labels in DataLoader(data, batch_size=16):
    loss = F.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HEADS = "\nx, _ = self.attn(x, x, x, attn_mask=mask)"
PADDED = "\nx, _ = self.attn(x, x, x, key_padding_mask=mask)"
FUSED = "\nx = F.scaled_dot_product_attention(x, x, x, attn_mask=mask)"
ENCODER = "\nx = self.encoder(x, mask=mask)"
BY_HAND = "\nx = (scores + mask).softmax(-1) @ x"
WRONG = {
    "truths made numbers": (
        "mask = (~torch.tril(ones.bool())).float()" + HEADS,
        "`~torch.tril(ones.bool())`",
    ),
    "truths of the keys that are seen": (
        "mask = torch.tril(ones.bool()).float()" + HEADS,
        "`~torch.tril(ones.bool())`",
    ),
    "a triangle of ones": (
        "mask = torch.triu(ones, diagonal=1)" + ENCODER,
        "`torch.triu(ones, diagonal=1).bool()`",
    ),
    "the other triangle": ("mask = torch.tril(ones)" + ENCODER,
                           "`torch.tril(ones) == 0`"),
    "one minus a triangle": ("mask = 1 - torch.tril(ones)" + HEADS,
                             "`torch.tril(ones) == 0`"),
    "a buffer": ("mask = self.tril[:T, :T]" + FUSED,
                 "`torch.tril(torch.ones(20, 20)).bool()`"),
    "fused": ("mask = torch.tril(ones)" + FUSED, "`torch.tril(ones).bool()`"),
    "fused, the other way": ("mask = torch.triu(ones, 1)" + FUSED,
                             "`torch.triu(ones, 1) == 0`"),
    "padding": ("mask = (ids == 0).float()" + PADDED, "`ids == 0`"),
    "padding beside another mask": (
        "x, _ = self.attn(x, x, x, attn_mask=torch.triu(ones, 1).bool(),"
        " key_padding_mask=(ids == 0).float())",
        "`ids == 0`",
    ),
    "what is no padding": ("mask = (ids != 0).to(x.dtype)" + PADDED, "`ids == 0`"),
    "by hand": (
        "mask = torch.tril(ones)" + BY_HAND,
        '`scores.masked_fill(mask == 0, float("-inf"))`',
    ),
}  # fmt: skip
RIGHT = {
    "truths": "mask = ~torch.tril(ones.bool())" + HEADS,
    "minus infinity":
        "mask = nn.Transformer.generate_square_subsequent_mask(T)" + ENCODER,
    "scaled": "mask = torch.triu(ones, diagonal=1) * -1e9" + HEADS,
    "filled":
        "mask = torch.triu(ones, 1).float()\n"
        "mask = mask.masked_fill(mask == 1, float('-inf'))" + ENCODER,
    "a logarithm": "mask = torch.tril(ones).log()" + FUSED,
    "scaled and shifted": "mask = (1.0 - torch.tril(ones)) * -10000.0" + BY_HAND,
    "learned": "mask = torch.tril(ones) * self.slope" + FUSED,
    "both kinds":
        "mask = nn.Transformer.generate_square_subsequent_mask(T)\n"
        "x = self.encoder(x, mask=mask, src_key_padding_mask=ids == 0)",
    "a mask of outputs": "x = x * (ids != 0).float()[..., None]",
    "distances": "i = torch.arange(T)\nmask = -(i[None] - i[:, None]).abs().float()"
                 + FUSED,
}  # fmt: skip


def find(folder: Path, body: str) -> list[tuple[str, str]]:
    """Code and first checked edit of each finding."""
    text = SCRIPT.replace("{body}", indent(body, " " * 8))
    return [
        (finding.code, finding.fixes[0].message if finding.fixes else "")
        for finding in rehearsed(folder, text).findings
        if finding.code not in ("no-gradient", "nan-in-data", "log-of-zero")
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_of_numbers_hides_nothing(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    assert find(tmp_path, body) == [("float-mask", edit)]


@pytest.mark.parametrize("name", RIGHT)
def test_masks_that_hide_are_quiet(tmp_path: Path, name: str) -> None:
    assert find(tmp_path, RIGHT[name]) == []


def test_written_numbers_of_padding_hide_nothing(tmp_path: Path) -> None:
    hidden = "mask = torch.zeros(len(ids), T)\nfor i in range(4):\n    mask[i, 3:] = 1"
    seen = hidden.replace("zeros", "ones").replace("3:", ":3").replace("= 1", "= 0")
    truths = hidden.replace("T)", "T, dtype=torch.bool)")
    for body in (hidden, seen):
        ((code, fix),) = find(tmp_path, body + PADDED)
        assert code == "float-mask"
        assert fix.endswith(", T, dtype=torch.bool)`")
    assert find(tmp_path, truths + PADDED) == []
