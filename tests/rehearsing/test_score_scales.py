"""Scores of attention that another root than that of their features scales."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import math

import torch
from torch import nn
import torch.nn.functional as F

width, heads = 24, 4
head = width // heads


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.query, self.key = nn.Linear(width, head), nn.Linear(width, head)
        self.wide, self.wide_key = nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.scale, self.own_scale = width ** -0.5, head ** -0.5
        self.learned = nn.Parameter(torch.ones(1))

    def split(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return [t.unflatten(-1, (heads, head)).transpose(1, 2) for t in (q, k, v)]

    def forward(self, x):
        {body}


print(Attention()(torch.randn(2, 5, width)).shape)
"""
ONE_HEAD = "q, k = self.query(x), self.key(x)\n        "
ALL = "q, k, v = self.split(x)\n        "
WRONG = {
    "one head": (
        ONE_HEAD + "scores = q @ k.transpose(-2, -1) * x.shape[-1] ** -0.5\n"
        "        return scores.softmax(-1) @ x",
        "`* q.size(-1) ** -0.5`",
    ),
    "all heads": (
        ALL + "scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(width)\n"
        "        return F.softmax(scores, dim=-1) @ v",
        "`/ q.size(-1) ** 0.5`",
    ),
    "kept": (
        ALL + "scores = q @ k.mT\n        scores = scores * self.scale\n"
        "        return F.softmax(scores, dim=-1) @ v",
        "`* q.size(-1) ** -0.5`",
    ),
    "queries": (
        ALL + "q = q * self.scale\n"
        "        scores = torch.einsum('bhqd,bhkd->bhqk', q, k)\n"
        "        return scores.softmax(-1) @ v",
        "",
    ),
    "a mask behind": (
        ALL + "scores = q @ k.transpose(-2, -1) / width ** 0.5\n"
        "        mask = torch.ones(5, 5).tril() == 0\n"
        "        scores = scores.masked_fill(mask, float('-inf'))\n"
        "        return scores.softmax(-1) @ v",
        "`/ q.size(-1) ** 0.5`",
    ),
    "one call": (
        ALL + "return F.scaled_dot_product_attention(q, k, v, scale=width ** -0.5)",
        "`scale=q.size(-1) ** -0.5`",
    ),
    "multiplied": (
        ALL + "scores = q @ k.transpose(-2, -1) * math.sqrt(head)\n"
        "        return scores.softmax(-1) @ v",
        "`* q.size(-1) ** -0.5`",
    ),
    "divided by the inverse": (
        ALL + "scores = q @ k.transpose(-2, -1) / self.own_scale\n"
        "        return scores.softmax(-1) @ v",
        "`/ q.size(-1) ** 0.5`",
    ),
}
RIGHT = {
    "its features": "scores = q @ k.transpose(-2, -1) * self.own_scale",
    "the root of them": "scores = q @ k.transpose(-2, -1) / math.sqrt(head)",
    "both sides": "scores = (q * head ** -0.25) @ (k * head ** -0.25).mT",
    "no scale": "scores = q @ k.transpose(-2, -1)",
    "by their number": "scores = q @ k.transpose(-2, -1) / head",
    "a number that meets it": "scores = q @ k.transpose(-2, -1) * 0.2041241452",
    "learned": "scores = q @ k.transpose(-2, -1) * self.learned * head ** 0.5",
    "unit lengths": "q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)\n"
                    "        scores = q @ k.transpose(-2, -1) * math.sqrt(head)",
    "a temperature": "scores = q @ k.transpose(-2, -1) / (0.5 * head ** 0.5)",
    "one head of all": "q, k = self.wide(x), self.wide_key(x)\n"
                       "        scores = (q @ k.transpose(-2, -1) * self.scale)\n"
                       "        v = x",
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_the_root_of_another_width_is_told(case: str, tmp_path: Path) -> None:
    body, fix = WRONG[case]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=body)).findings
    assert finding.code == "score-scale"
    assert [each.message for each in finding.fixes if each.checked] == [fix] * bool(fix)


@pytest.mark.parametrize("case", RIGHT)
def test_other_scales_are_quiet(case: str, tmp_path: Path) -> None:
    body = f"{ALL}{RIGHT[case]}\n        return scores.softmax(-1) @ v"
    report = rehearsed(tmp_path, SCRIPT.format(body=body))
    assert report.complete
    assert not report.findings
