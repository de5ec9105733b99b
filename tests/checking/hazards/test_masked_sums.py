"""Sums of a whole loss that a mask of its samples and steps multiplies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

lengths = torch.tensor([3, 5, 2, 4])
is_step = torch.arange(6)[None] < lengths[:, None]
mask = is_step.float()
encoder, head = nn.Linear(5, 8), nn.Linear(8, 1)
x, y = torch.randn(4, 6, 5), torch.randn(4, 6)
h = encoder(x)
kl = 1 + h - h.exp()
error = (head(h).squeeze(-1) - y).square()
{lines}
loss.backward()
"""
WRONG = {
    "a factor": (
        "part = -0.5 * torch.sum(kl) * mask\n"
        "loss = (error * mask + part).sum() / mask.sum()",
        "`torch.sum(kl, dim=-1)`",
    ),
    "a method": (
        "part = (-0.5 * kl.sum()) * mask\nloss = (error * mask + part).mean()",
        "`kl.sum(dim=-1)`",
    ),
    "truths": (
        "part = kl.sum().neg() * is_step\nloss = (error + part).mean()",
        "`kl.sum(dim=-1)`",
    ),
    "a part of a mask": (
        "part = -kl[:, 1:].sum() * mask[:, 1:]\nloss = (error[:, 1:] + part).mean()",
        "`kl[:, 1:].sum(dim=-1)`",
    ),
}
RIGHT = {
    "of each step": "loss = (-0.5 * kl.sum(-1) * mask).mean()",
    "all of them": "loss = (error * mask).sum() - 0.5 * kl.sum()",
    "masked before": "loss = (kl * mask.unsqueeze(-1)).sum() / mask.sum()",
    "a number that is divided": "loss = (error * mask / mask.sum()).sum()",
    "a penalty of weights": "loss = (error + head.weight.square().sum() * mask).mean()",
    "a factor without a gradient": "loss = (error * kl.detach().sum() * mask).mean()",
    "steps alone": "loss = error.sum() * mask.sum()",
    "a mask of other elements": "loss = kl.sum() * (x > 0).float().mean()",
}


def list_edits(folder: Path, lines: str) -> list[list[str]]:
    """The fixes of each finding of sums of a batch."""
    report = rehearsed(folder, SCRIPT.format(lines=lines))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes]
        for finding in report.findings
        if finding.code == "batch-dependence"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_sums_times_a_mask_are_told(name: str, tmp_path: Path) -> None:
    lines, fix = WRONG[name]
    assert list_edits(tmp_path, lines) == [[fix]]


@pytest.mark.parametrize("name", RIGHT)
def test_other_sums_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_edits(tmp_path, RIGHT[name]) == []
