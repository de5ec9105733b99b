"""Rows that are repeated in two orders, or put back by the permutation itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
pair = nn.Linear(12, 1)
tokens = nn.Linear(6, 6)
lengths = torch.randint(1, 9, (12,))
loader = DataLoader(TensorDataset(torch.randn(60, 6), torch.randn(60, 9, 6)), 12)
for x, s in loader:
"""
WRONG = {
    "in a loss": (
        "    z = encoder(x).repeat_interleave(5, dim=0)\n"
        "    loss = F.mse_loss(decoder(z), x.repeat(5, 1))\n",
        "paired-rows",
        "`x.repeat_interleave(5, dim=0)`",
    ),
    "in a difference": (
        "    k = 3\n    big = x.repeat(k, 1)\n"
        "    z = torch.repeat_interleave(encoder(x), k, dim=0)\n"
        "    loss = (decoder(z) - big).pow(2).mean()\n",
        "paired-rows",
        "`x.repeat_interleave(k, dim=0)`",
    ),
    "joined": (
        "    a = x.unsqueeze(1).expand(-1, 4, -1).reshape(-1, 6)\n"
        "    b = x.repeat(4, 1)\n"
        "    loss = pair(torch.cat([a, b], dim=1)).mean()\n",
        "paired-rows",
        "`x.unsqueeze(1).expand(-1, 4, -1).transpose(0, 1).reshape(-1, 6)`",
    ),
    "tokens": (
        "    noise = torch.rand(12, 9)\n"
        "    shuffle = torch.argsort(noise, dim=1)\n"
        "    restore = torch.argsort(noise, dim=1)\n"
        "    t = tokens(s)\n"
        "    seen = t.gather(1, shuffle[:, :4].unsqueeze(-1).repeat(1, 1, 6))\n"
        "    full = torch.cat([tokens(seen), torch.zeros(12, 5, 6)], 1)\n"
        "    full = full.gather(1, restore.unsqueeze(-1).repeat(1, 1, 6))\n"
        "    loss = (full - s).pow(2).mean()\n",
        "permuted-twice",
        "`torch.argsort(shuffle, dim=1)`",
    ),
    "one order for both": (
        ""
        "    ids = torch.rand(12, 9).argsort(dim=1)\n"
        "    t = tokens(s)\n"
        "    seen = torch.gather(t, 1, ids[:, :4, None].expand(-1, -1, 6))\n"
        "    full = torch.cat([tokens(seen), torch.zeros(12, 5, 6)], 1)\n"
        "    full = torch.gather(full, 1, ids[:, :, None].expand(-1, -1, 6))\n"
        "    loss = (full - s).pow(2).mean()\n",
        "permuted-twice",
        "`ids.argsort(dim=1)`",
    ),
    "rows": (
        "    order = lengths.argsort(descending=True)\n"
        "    h = encoder(x)\n"
        "    h = decoder(h[order])\n"
        "    h = h[order]\n"
        "    loss = (h - x).pow(2).mean()\n",
        "permuted-twice",
        "`order.argsort()`",
    ),
    "columns, a random order": (
        "    perm = torch.randperm(9)\n"
        "    t = tokens(s)\n"
        "    t = tokens(t[:, perm])\n"
        "    loss = (t[:, perm] - s).pow(2).mean()\n",
        "permuted-twice",
        "`perm.argsort()`",
    ),
}
RIGHT = {
    "repeated alike": "    z = encoder(x).repeat_interleave(5, dim=0)\n"
    "    loss = F.mse_loss(decoder(z), x.repeat_interleave(5, dim=0))\n",
    "repeated alike, whole": "    z = encoder(x).repeat(5, 1)\n"
    "    loss = F.mse_loss(decoder(z), x.repeat(5, 1))\n",
    "all pairs": "    n = x.shape[0]\n"
    "    both = torch.cat([x.repeat(n, 1), x.repeat_interleave(n, 0)], 1)\n"
    "    loss = pair(both).mean()\n",
    "pairs with a table": "    table = torch.randn(5, 6)\n"
    "    both = torch.cat([table.repeat(12, 1), x.repeat_interleave(5, 0)], 1)\n"
    "    loss = pair(both).mean()\n",
    "restored": "    noise = torch.rand(12, 9)\n"
    "    shuffle = torch.argsort(noise, dim=1)\n"
    "    restore = torch.argsort(shuffle, dim=1)\n"
    "    t = tokens(s)\n"
    "    seen = t.gather(1, shuffle[:, :4].unsqueeze(-1).repeat(1, 1, 6))\n"
    "    full = torch.cat([tokens(seen), torch.zeros(12, 5, 6)], 1)\n"
    "    full = full.gather(1, restore.unsqueeze(-1).repeat(1, 1, 6))\n"
    "    loss = (full - s).pow(2).mean()\n",
    "mixed twice": "    perm = torch.randperm(12)\n"
    "    a = 0.6 * x + 0.4 * x[perm]\n"
    "    h = encoder(a)\n"
    "    h = 0.6 * h + 0.4 * h[perm]\n"
    "    loss = (decoder(h) - x).pow(2).mean()\n",
    "targets too": "    order = lengths.argsort()\n"
    "    h = decoder(encoder(x[order]))\n"
    "    loss = (h - x[order]).pow(2).mean()\n",
    "written back": "    order = lengths.argsort()\n"
    "    h = decoder(encoder(x[order]))\n"
    "    out = torch.zeros(12, 6)\n"
    "    out[order] = h\n"
    "    loss = (out - x).pow(2).mean()\n",
    "two dims": "    order = torch.randperm(6)\n"
    "    t = tokens(s[:, order])\n"
    "    loss = (t[:, :, order] - t).pow(2).mean()\n",
    "a layer with a permutation, twice": "    order = torch.randperm(6)\n"
    "    h = x\n"
    "    for _ in range(2):\n"
    "        h = tokens(h[:, order])\n"
    "    loss = (h - x).pow(2).mean()\n",
    "the best beams": "    index = encoder(x)[:, 0].topk(12).indices\n"
    "    h = encoder(x)[index]\n"
    "    h = decoder(h)[index]\n"
    "    loss = h.pow(2).mean()\n",
}
CODES = {"paired-rows", "permuted-twice"}


@pytest.mark.parametrize("name", WRONG)
def test_rows_in_another_order_are_found(tmp_path: Path, name: str) -> None:
    body, code, edit = WRONG[name]
    text = SCRIPT + body + "    loss.backward()\n"
    findings = rehearsed(tmp_path, text).findings
    assert [f.code for f in findings if f.code in CODES] == [code]
    fixes = [fix.message for f in findings if f.code == code for fix in f.fixes]
    assert fixes == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_right_one(tmp_path: Path, name: str) -> None:
    text = SCRIPT + RIGHT[name] + "    loss.backward()\n"
    findings = rehearsed(tmp_path, text).findings
    assert not {f.code for f in findings} & CODES
