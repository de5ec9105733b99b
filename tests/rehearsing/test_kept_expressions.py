"""Constructors that keep what they compute of a parameter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, parts=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 1) for _ in range(parts))
        self.start = torch.ones(parts)
        KEPT

    def forward(self, x):
        outputs = torch.stack([layer(x) for layer in self.layers])
        return (outputs * self.share[:, None, None]).sum(0)


model = Mixture()
x, y = torch.randn(8, 4), torch.randn(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    optimizer.step()
print(model.share.sum())
"""
MADE = {
    "self.share = nn.Parameter(torch.ones(parts)).exp()": (
        "`self.share.exp()` where `self.share` is read, and `self.share ="
        " nn.Parameter(torch.ones(parts))`"
    ),
    "self.share = torch.softmax(nn.Parameter(torch.ones(parts)), 0)": (
        "`torch.softmax(self.share, 0)` where `self.share` is read, and `self.share ="
        " nn.Parameter(torch.ones(parts))`"
    ),
    "raw = nn.Parameter(torch.ones(parts)); self.share = 1 / raw": (
        "`(1 / self.share)` where `self.share` is read, and `self.share = raw`"
    ),
    "self.raw = nn.Parameter(torch.ones(parts)); self.share = self.raw.exp()": (
        "`self.raw.exp()` where `self.share` is read, without `self.share ="
        " self.raw.exp()`"
    ),
}
LEFT = (
    "self.share = (nn.Parameter(torch.ones(parts)) / parts).exp()",
    "self.share = nn.Parameter(self.start).exp() * nn.Parameter(self.start).exp()",
)
FIXED = (
    "self.share = (nn.Parameter(self.start) + self.start).exp().detach()",
    "self.share = nn.Parameter(torch.ones(parts).exp())",
)


def list_edits(folder: Path, kept: str) -> list[list[str]]:
    """The edits for each finding of a program that keeps something."""
    text = PROGRAM.replace("KEPT", "\n        ".join(kept.split("; ")))
    return [[f.message for f in f.fixes] for f in rehearsed(folder, text).findings]


@pytest.mark.parametrize("kept", MADE)
def test_the_parameter_is_kept(tmp_path: Path, kept: str) -> None:
    assert list_edits(tmp_path, kept) == [[MADE[kept]]]


@pytest.mark.parametrize("kept", LEFT)
def test_no_parameter_is_detached(tmp_path: Path, kept: str) -> None:
    """Other methods do not know `parts`, and two parameters are no one attribute."""
    assert list_edits(tmp_path, kept) == [[]]


@pytest.mark.parametrize("kept", FIXED)
def test_numbers_may_be_kept(tmp_path: Path, kept: str) -> None:
    assert list_edits(tmp_path, kept) == []


def test_what_is_not_trained_is_detached(tmp_path: Path) -> None:
    text = PROGRAM.replace("parts=3)", "teacher, parts=3)")
    text = text.replace("KEPT", "self.share = teacher(torch.ones(4)).exp()")
    text = text.replace("Mixture()", "Mixture(nn.Linear(4, 3))")
    (finding,) = rehearsed(tmp_path, text).findings
    assert "detach" in finding.fixes[0].message
