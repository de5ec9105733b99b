"""Models of next tokens whose attention has no mask that hides the future."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset

T = 9
words = [(7 * i + i * i) % 30 for i in range(400)]
{data}


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.attn = nn.Embedding(30, 8), nn.MultiheadAttention(8, 2)
        self.q, self.k, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 30)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        memory = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        self.decoder = nn.TransformerDecoder(memory, 1)

    def forward(self, ids):
        x = self.emb(ids)
        q, k = self.q(x), self.k(x)
{body}
        return self.head(x)


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{batches}
    logits = model(x)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FLAT = "F.cross_entropy(logits.reshape(-1, 30), y.reshape(-1))"
IDS = {
    "data": "data = TensorDataset(torch.randint(0, 30, (64, T)))",
    "batches": "for (ids,) in DataLoader(data, batch_size=16):\n"
               "    x, y = ids[:, :-1], ids[:, 1:]",
    "loss": FLAT,
}  # fmt: skip
DRAWN = {
    "data": "data = torch.tensor(words)",
    "batches": "for _ in range(5):\n"
               "    ix = torch.randint(len(data) - T, (16,))\n"
               "    x = torch.stack([data[i:i + T] for i in ix])\n"
               "    y = torch.stack([data[i + 1:i + T + 1] for i in ix])",
    "loss": FLAT,
}  # fmt: skip
ITEMS = """\
class Words(Dataset):
    def __len__(self):
        return len(words) - T

    def __getitem__(self, i):
        chunk = {chunk}
        return {pair}


data = Words()"""
LISTS = {
    "data": ITEMS.format(
        chunk="words[i:i + T + 1]",
        pair="torch.tensor(chunk[:-1]), torch.tensor(chunk[1:])",
    ),
    "batches": "for x, y in DataLoader(data, batch_size=16, shuffle=True):",
    "loss": "F.cross_entropy(logits.transpose(1, 2), y)",
}
ARRAYS = LISTS | {
    "data": ITEMS.format(
        chunk="np.array(words)[i:i + T + 1]",
        pair="torch.from_numpy(chunk[:-1]), torch.from_numpy(chunk[1:])",
    ),
}
WINDOWS = {
    "data": "ids = torch.tensor(words)\n"
            "xs = torch.stack([ids[i:i + T] for i in range(0, 300, T)])\n"
            "ys = torch.stack([ids[i + 1:i + T + 1] for i in range(0, 300, T)])\n"
            "data = TensorDataset(xs, ys)",
    "batches": "for x, y in DataLoader(data, batch_size=8):",
    "loss": FLAT,
}  # fmt: skip
HAND = (
    "att = q @ k.transpose(-2, -1) / 8 ** 0.5\n"
    "att = F.softmax(att, dim=-1)\n"
    "x = att @ x"
)
METHOD = "x = (q @ k.mT * 0.3).softmax(dim=-1) @ x"
FUSED = "x = F.scaled_dot_product_attention(q, k, x)"
HEADS = "x = x.transpose(0, 1)\nx = self.attn(x, x, x)[0].transpose(0, 1)"
ENCODER = "x = self.encoder(x)"
ADDED = "memory = torch.randn(len(x), 4, 8)\nx = self.decoder(x, memory)"
WRONG = {
    "hand": (IDS, HAND),
    "method": (IDS, METHOD),
    "fused": (IDS, FUSED),
    "heads": (IDS, HEADS),
    "encoder": (IDS, ENCODER),
    "decoder": (IDS, ADDED),
    "padding alone": (IDS, HAND.replace(
        "att = F", "att = att.masked_fill((ids == 0)[:, None], -1e9)\natt = F")),
    "drawn": (DRAWN, HAND),
    "lists": (LISTS, ENCODER),
    "arrays": (ARRAYS, FUSED),
    "windows": (WINDOWS, HAND),
}  # fmt: skip
OF_LAST = {"loss": "F.cross_entropy(logits[:, -1], y[:, -1])"}
SAME = {"loss": "F.cross_entropy(logits.reshape(-1, 30), x.reshape(-1))"}
TAGS = {"loss": "F.cross_entropy(logits.reshape(-1, 30), (y % 2).reshape(-1))"}
MASK = "nn.Transformer.generate_square_subsequent_mask(x.size(1))"
RIGHT = {
    "a fill": (IDS, HAND.replace("att = F", "hidden = torch.ones(8, 8).triu(1) == 1\n"
                                 "att = att.masked_fill(hidden, -1e9)\natt = F")),
    "an addition": (IDS, HAND.replace("att = F", f"att = att + {MASK}\natt = F")),
    "where": (DRAWN, HAND.replace(
        "att = F", "seen = torch.ones(T, T).tril() == 1\n"
        "att = torch.where(seen, att, torch.tensor(-1e9))\natt = F")),
    "is_causal": (IDS, FUSED.replace("x)", "x, is_causal=True)")),
    "attn_mask": (LISTS, FUSED.replace(
        "x)", "x, attn_mask=torch.ones(T, T).tril() == 1)")),
    "mask": (LISTS, ENCODER.replace("(x)", f"(x, mask={MASK})")),
    "tgt_mask": (IDS, ADDED.replace("memory)", f"memory, tgt_mask={MASK})")),
    "the last step": (IDS | OF_LAST, HAND),
    "arrays with a mask": (ARRAYS, ENCODER.replace("(x)", f"(x, mask={MASK})")),
    "an encoder of arrays": (ARRAYS, "y = self.encoder(self.emb(ids.flip(1)))\n"
                             "x = F.scaled_dot_product_attention(\n"
                             "    x, x, x, is_causal=True)\n"
                             "x = self.decoder(x, y, tgt_mask=" + MASK + ")"),
    "the tokens themselves": (DRAWN | SAME, HAND),
    "attention to others": (IDS, "memory = torch.randn(len(x), 8, 8)\n"
                            "x = x + (q @ memory.mT).softmax(-1) @ memory"),
    "attention of features": (IDS, "x = x @ (q.mT @ k).softmax(-1)"),
    "tags": (DRAWN | TAGS, ENCODER),
}  # fmt: skip


def write_script(parts: dict[str, str], body: str) -> str:
    return SCRIPT.format(body=indent(body, " " * 8), **parts)


@pytest.mark.parametrize("name", WRONG)
def test_attention_that_sees_its_targets_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*WRONG[name]))
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "mask-axis"]
    assert "no mask hides the future" in finding.message
    assert "but the last sees the next token" in finding.message
    assert [fix.checked for fix in finding.fixes] == [True]


@pytest.mark.parametrize("name", RIGHT)
def test_other_attention_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*RIGHT[name]))
    assert report.complete, report
    assert "mask-axis" not in [f.code for f in report.findings]


FIXES = {
    "hand": 'att = att.masked_fill(future, float("-inf"))',
    "method": 'scores = scores.masked_fill(future, float("-inf"))',
    "fused": "F.scaled_dot_product_attention(q, k, x, is_causal=True)",
    "heads": "attn_mask=nn.Transformer.generate_square_subsequent_mask(x.size(0))",
    "encoder": f"mask={MASK}",
    "decoder": f"tgt_mask={MASK}",
}


@pytest.mark.parametrize("name", FIXES)
def test_the_edit_hides_the_future(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*WRONG[name]))
    (finding,) = [f for f in report.findings if f.code == "mask-axis"]
    assert FIXES[name] in finding.fixes[0].message
