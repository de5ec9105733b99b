"""Masks of what may be chosen that hide it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import MASK_AXIS
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 5)

    def forward(self, seen, legal):
        logits = self.net(seen)
        logits = MASKED
        return Categorical(logits=logits)


policy = Policy()
seen, legal = torch.randn(16, 6), torch.rand(16, 5) > 0.3
dist = policy(seen, GIVEN)
loss = -(dist.log_prob(dist.sample()) * torch.randn(16)).mean()
loss.backward()
"""


def find_masks(folder: Path, masked: str, given: str = "legal") -> list[list[str]]:
    """Return the edits of each finding on a mask."""
    text = SCRIPT.replace("MASKED", masked).replace("GIVEN", given)
    return [
        [fix.message for fix in finding.fixes]
        for finding in rehearsed(folder, text).findings
        if finding.code == MASK_AXIS
    ]


@pytest.mark.parametrize(
    ("masked", "edit"),
    [
        ("logits.masked_fill(legal, -1e9)", "`~legal`"),
        ("torch.masked_fill(logits, legal, float('-inf'))", "`~legal`"),
        ("logits.masked_fill(legal.bool(), -1e9)", "`~legal.bool()`"),
    ],
)
def test_what_is_legal_is_hidden(masked: str, edit: str, tmp_path: Path) -> None:
    assert find_masks(tmp_path, masked) == [[edit]]


@pytest.mark.parametrize(
    ("masked", "given"),
    [
        ("logits.masked_fill(~legal, -1e9)", "legal"),
        ("logits.masked_fill(legal == 0, -1e9)", "legal"),
        ("logits.masked_fill(legal.logical_not(), -1e9)", "legal"),
        ("logits.masked_fill(legal, 0.0)", "legal"),
        ("logits.masked_fill(legal, -1e9)", "~legal"),
        ("torch.where(legal, logits, -1e9)", "legal"),
    ],
)
def test_what_is_not_legal_is_hidden(masked: str, given: str, tmp_path: Path) -> None:
    assert not find_masks(tmp_path, masked, given)


def test_a_mask_of_what_is_not_legal(tmp_path: Path) -> None:
    text = SCRIPT.replace("legal", "illegal").replace("GIVEN", "illegal")
    text = text.replace("MASKED", "logits.masked_fill(illegal, -1e9)")
    codes = {finding.code for finding in rehearsed(tmp_path, text).findings}
    assert MASK_AXIS not in codes
