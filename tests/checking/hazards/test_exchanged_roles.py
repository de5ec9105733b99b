"""Straight-through estimators and mined triplets whose two parts are exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

encoder, decoder = nn.Linear(6, 4), nn.Linear(4, 6)
codebook = nn.Embedding(16, 4)
x = torch.randn(12, 6)
labels = torch.randint(0, 3, (12,))
z = encoder(x)


"""
TRAINED = "\nF.mse_loss(decoder(out), x).backward()"
MINED = "\nloss.backward()"
DISTANCES = "d = torch.cdist(z, z)\nsame = labels[:, None] == labels[None, :]\n"
WRONG = {
    "nearest codes": (
        "codes = torch.cdist(z, codebook.weight).argmin(1)\n"
        "q = codebook(codes)\n"
        "out = q + (z - q).detach()" + TRAINED,
        "reversed-straight-through",
        "`z + (q - z).detach()`",
    ),
    "codes by one-hot rows": (
        "flat = z.view(-1, 4)\n"
        "index = (flat[:, None] - codebook.weight).pow(2).sum(-1).argmin(1)\n"
        "rows = torch.zeros(12, 16).scatter_(1, index.unsqueeze(1), 1)\n"
        "q = (rows @ codebook.weight).view(z.shape)\n"
        "out = (z - q).detach() + q" + TRAINED,
        "reversed-straight-through",
        "`z + (q - z).detach()`",
    ),
    "rounded": (
        "r = torch.round(z * 4)\nz4 = z * 4\n"
        "r = z4.round()\n"
        "out = r + (z4 - r).detach()" + TRAINED,
        "reversed-straight-through",
        "`z4 + (r - z4).detach()`",
    ),
    "binary, in a function": (
        "def binarize(s):\n"
        "    hard = (s > 0.5).float()\n"
        "    return s - hard.detach() + hard\n\n"
        "out = binarize(torch.sigmoid(z))" + TRAINED,
        "reversed-straight-through",
        "`s + (hard - s).detach()`",
    ),
    "rounded, nothing cut": (
        "out = z + (torch.round(z) - z)" + TRAINED,
        "reversed-straight-through",
        "`(torch.round(z) - z).detach()`",
    ),
    "codes, nothing cut": (
        "q = codebook(torch.cdist(z, codebook.weight).argmin(1))\n"
        "out = (q - z) + z" + TRAINED,
        "reversed-straight-through",
        "`(q - z).detach()`",
    ),
    "a named step": (
        "s = torch.sigmoid(z)\nstep = (s > 0.5).float() - s\nout = s + step" + TRAINED,
        "reversed-straight-through",
        "`step.detach()`",
    ),
    "a hard one-hot": (
        "p = z.softmax(1)\nhard = F.one_hot(p.argmax(1), 4).float()\n"
        "out = p + (hard - p)" + TRAINED,
        "reversed-straight-through",
        "`(hard - p).detach()`",
    ),
    "fills": (
        DISTANCES + "p = d.masked_fill(~same, float('inf')).min(1).values\n"
        "n = d.masked_fill(same, float('-inf')).max(1).values\n"
        "loss = F.relu(p - n + 0.3).mean()" + MINED,
        "reversed-mining",
        "`d.masked_fill(~same, float('-inf')).max(1)` and"
        " `d.masked_fill(same, float('inf')).min(1)`",
    ),
    "where, by functions": (
        DISTANCES + "other = labels.unsqueeze(0) != labels.unsqueeze(1)\n"
        "p = torch.amin(torch.where(other, 1e9, d), dim=1)\n"
        "n = torch.amax(torch.where(same, -1e9, d), dim=1)\n"
        "loss = F.softplus(p - n).mean()" + MINED,
        "reversed-mining",
        "`torch.amax(torch.where(other, -1e9, d), dim=1)` and"
        " `torch.amin(torch.where(same, 1e9, d), dim=1)`",
    ),
    "fills, a ranking loss": (
        DISTANCES + "same = same & ~torch.eye(12, dtype=torch.bool)\n"
        "hp, _ = torch.min(d.masked_fill(~same, 1e9), dim=1)\n"
        "hn, _ = torch.max(d.masked_fill(same, -1e9), dim=1)\n"
        "loss = F.margin_ranking_loss(hn, hp, torch.ones_like(hp), margin=0.3)" + MINED,
        "reversed-mining",
        "`torch.max(d.masked_fill(~same, -1e9), dim=1)` and"
        " `torch.min(d.masked_fill(same, 1e9), dim=1)`",
    ),
}
RIGHT = {
    "straight through": "q = codebook(torch.cdist(z, codebook.weight).argmin(1))\n"
    "out = z + (q - z).detach()" + TRAINED,
    "straight through, by hand": "h = (z > 0).float()\n"
    "out = h - z.detach() + z" + TRAINED,
    "the plain one detached": "out = z + (z.round() - z.detach())" + TRAINED,
    "a function of its own": "class Round(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, x):\n        return x.round()\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g\n\n"
    "q = Round.apply(z)\nout = z + (q - z)" + TRAINED,
    "no gradient": "with torch.no_grad():\n    y = z + (z.round() - z)\n"
    "out = z" + TRAINED,
    "a blend": "out = z + 0.5 * (torch.tanh(z) - z)" + TRAINED,
    "a step to another": "out = z + (encoder(x.round()) - z)" + TRAINED,
    "a residual": "y = encoder(x)\nout = y + (z - y).detach()" + TRAINED,
    "of a computed value": "y = torch.tanh(z)\nout = y + (z - y).detach()" + TRAINED,
    "a hardest loss": DISTANCES
    + "p = d.masked_fill(~same, float('-inf')).max(1).values\n"
    "n = d.masked_fill(same, float('inf')).min(1).values\n"
    "loss = F.relu(p - n + 0.3).mean()" + MINED,
    "similarities": "s = F.normalize(z, dim=1) @ F.normalize(z, dim=1).t()\n"
    "same = labels[:, None] == labels[None, :]\n"
    "p = s.masked_fill(~same, float('inf')).min(1).values\n"
    "n = s.masked_fill(same, float('-inf')).max(1).values\n"
    "loss = F.relu(n - p + 0.3).mean()" + MINED,
    "similarities, turned": "s = F.normalize(z, dim=1) @ F.normalize(z, dim=1).t()\n"
    "same = labels[:, None] == labels[None, :]\n"
    "p = s.masked_fill(~same, float('inf')).min(1).values\n"
    "n = s.masked_fill(same, float('-inf')).max(1).values\n"
    "loss = F.relu(0.3 - (p - n)).mean()" + MINED,
    "easy positives": DISTANCES
    + "p = d.masked_fill(~same, float('inf')).min(1).values\n"
    "n = d.masked_fill(same, float('inf')).min(1).values\n"
    "loss = F.relu(p - n + 0.3).mean()" + MINED,
    "a margin of numbers": DISTANCES
    + "p = d.masked_fill(~same, float('inf')).min(1).values\n"
    "n = d.masked_fill(same, float('-inf')).max(1).values\n"
    "print((p - n).mean())\nloss = d.mean()" + MINED,
}
CODES = {"reversed-straight-through", "reversed-mining"}


@pytest.mark.parametrize("name", WRONG)
def test_exchanged_parts_are_found(tmp_path: Path, name: str) -> None:
    body, code, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    assert [f.code for f in findings if f.code in CODES] == [code]
    fixes = [fix.message for f in findings if f.code == code for fix in f.fixes]
    assert fixes == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_right_one(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert not {f.code for f in findings} & CODES
