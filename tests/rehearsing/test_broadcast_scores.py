"""Scores of one query and one key that a mask of the longest sequence made larger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, longest):
        super().__init__()
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.register_buffer("seen", torch.ones(longest, longest).tril().bool())
        self.register_buffer("bias", torch.ones(1, 1, longest, longest).tril())

    def forward(self, x):
        {sizes}
        q, k, v = self.q(x), self.k(x), self.v(x)
        {heads}
        scores = q @ k.transpose(-2, -1)
        {mask}
        return scores.softmax(-1) @ v


attention = Attention(12, 16)
for length in (16, 1):
    attention(torch.randn(2, length, 12))
"""
HEADS = "q, k, v = (t.unflatten(-1, (3, 4)).transpose(1, 2) for t in (q, k, v))"
WRONG = {
    "unpacked": (
        "batch, steps, width = x.shape",
        "pass",
        "scores = scores.masked_fill(~self.seen, -1e9)",
        "`self.seen[:steps, :steps]`",
    ),
    "heads": (
        "T = x.size(1)",
        HEADS,
        "scores = scores.masked_fill(self.bias == 0, float('-inf'))",
        "`self.bias[:, :, :T, :T]`",
    ),
    "no name": (
        "pass",
        "pass",
        "scores = scores.masked_fill(self.seen.logical_not(), -1e9)",
        "`self.seen[:scores.size(-2), :scores.size(-1)]`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mask_that_is_larger_than_one_score_is_cut(case: str, tmp_path: Path) -> None:
    sizes, heads, mask, fix = WRONG[case]
    report = rehearsed(tmp_path, SCRIPT.format(sizes=sizes, heads=heads, mask=mask))
    (finding,) = [f for f in report.findings if f.severity == "error"]
    assert "repeated to the size of the mask" in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked] == [fix]


OTHERS = {
    "cut": ("T = x.size(1)", "scores = scores.masked_fill(~self.seen[:T, :T], -1e9)"),
    "none": ("pass", "pass"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_masks_that_fit_are_not_told(case: str, tmp_path: Path) -> None:
    sizes, mask = OTHERS[case]
    report = rehearsed(tmp_path, SCRIPT.format(sizes=sizes, heads="pass", mask=mask))
    assert [f for f in report.findings if f.severity == "error"] == []


def test_another_product_behind_a_mask_that_fits_has_its_own_words(
    tmp_path: Path,
) -> None:
    sizes, mask = OTHERS["cut"]
    text = SCRIPT.format(sizes=sizes, heads="v = v[:, :1, :5].mT", mask=mask)
    findings = rehearsed(tmp_path, text).findings
    assert not any("size of the mask" in finding.message for finding in findings)
