"""Queries and keys that are rotated along the dim of their heads, or samples."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F

def halves(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)

class Rope(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("rates", 1.0 / 100 ** (torch.arange(0, width, 2) / width))
    def forward(self, x):
        steps = torch.arange(x.shape[{dim}], device=x.device).float()
        angles = torch.outer(steps, self.rates)
        angles = torch.cat((angles, angles), dim=-1)
        return x * angles.cos() + halves(x) * angles.sin()

def rotate(x):
    n, width = x.shape[{dim}], x.shape[-1]
    rates = 1.0 / 100 ** (torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(n), rates)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)

class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.rope = heads, Rope(dim // heads)
        self.qkv, self.out = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).unbind(2)
{body}
        return self.out(y.transpose(1, 2).reshape(b, t, d))

embed, net = nn.Embedding(50, 32), Attention()
tokens = torch.randint(0, 50, (6, 11))
net(embed(tokens)).sum().backward()
"""
ATTEND = "y = F.scaled_dot_product_attention({operands})"
BEHIND = ATTEND.format(
    operands="q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)"
)
TURN = "q, k, v = (z.transpose(1, 2) for z in (q, k, v))\n"
PLAIN = ATTEND.format(operands="q, k, v")
WRONG = {
    "in a module": (
        "-2", f"q = self.rope(q)\nk = self.rope(k)\n{BEHIND}",
        "`self.rope(q.transpose(1, 2))`, and `q = q.transpose(1, 2)` behind it",
    ),
    "in a function": (
        "-2", f"q = rotate(q)\nk = rotate(k)\n{BEHIND}",
        "`rotate(q.transpose(1, 2))`, and `q = q.transpose(1, 2)` behind it",
    ),
}  # fmt: skip
RIGHT = {
    "heads in front": ("-2", f"{TURN}q, k = self.rope(q), self.rope(k)\n{PLAIN}"),
    "pairs of numbers": ("-2", f"{TURN}q, k = rotate(q), rotate(k)\n{PLAIN}"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_rotation_along_the_heads_is_found(case: str, tmp_path: Path) -> None:
    dim, body, fix = WRONG[case]
    text = HEAD.format(dim=dim, body=indent(body, " " * 8))
    findings = rehearsed(tmp_path, text).findings
    assert {finding.code for finding in findings} == {"wrong-axis"}
    message = findings[0].message
    assert "is rotated along dim 2, which counts 4 heads" in message
    assert message.endswith("and not along dim 1, its 11 steps")
    assert [edit.message for edit in findings[0].fixes][:1] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_a_rotation_along_the_steps_is_right(case: str, tmp_path: Path) -> None:
    dim, body = RIGHT[case]
    text = HEAD.format(dim=dim, body=indent(body, " " * 8))
    assert not rehearsed(tmp_path, text).findings
