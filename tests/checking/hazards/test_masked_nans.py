"""Targets with NaN that a mask of zeros is to leave out of a loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

net = nn.Linear(5, 3)
x, y = torch.randn(8, 5), torch.randn(8, 3)
y[torch.rand(8, 3) < 0.3] = float("nan")
pred = net(x)
{lines}
loss.backward()
"""
MASK = "mask = ~torch.isnan(y)\n"
WRONG = {
    "a loss": MASK + "err = F.mse_loss(pred, y, reduction='none') * mask\n"
    "loss = err.sum() / mask.sum()",
    "by hand": "valid = (~y.isnan()).float()\n"
    "loss = (valid * (pred - y) ** 2).sum() / valid.sum()",
    "one minus": "missing = torch.isnan(y).float()\n"
    "loss = ((pred - y).abs() * (1 - missing)).mean()",
    "finite": "valid = torch.isfinite(y)\n"
    "loss = (F.smooth_l1_loss(pred, y, reduction='none') * valid).mean()",
    "a layer, in place": MASK + "err = nn.L1Loss(reduction='none')(pred, y)\n"
    "err *= mask\nloss = err.mean()",
}
RIGHT = {
    "replaced": MASK + "err = F.mse_loss(pred, torch.nan_to_num(y), reduction='none')\n"
    "loss = (err * mask).mean()",
    "replaced before": MASK + "y = torch.nan_to_num(y)\n"
    "loss = ((pred - y) ** 2 * mask).mean()",
    "written": MASK + "y[~mask] = 0\nloss = ((pred - y) ** 2 * mask).mean()",
    "where": MASK + "t = torch.where(mask, y, pred.detach())\n"
    "loss = ((pred - t) ** 2 * mask).mean()",
    "chosen": MASK + "loss = F.mse_loss(pred[mask], y[mask])",
    "another mask": "mask = y > 0\nloss = ((pred - x[:, :3]) ** 2 * mask).mean()",
    "of another": "mask = ~torch.isnan(y)\n"
    "loss = ((pred - x[:, :3]) ** 2 * mask).mean()",
}


def find_nans(folder: Path, lines: str) -> list[list[str]]:
    """The checked fixes of each finding of NaN."""
    report = rehearsed(folder, SCRIPT.format(lines=lines))
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "nan-in-data"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_that_is_multiplied_is_told(name: str, tmp_path: Path) -> None:
    assert find_nans(tmp_path, WRONG[name]) == [["`torch.nan_to_num(y)`"]]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_other_masks(name: str, tmp_path: Path) -> None:
    assert find_nans(tmp_path, RIGHT[name]) == []
