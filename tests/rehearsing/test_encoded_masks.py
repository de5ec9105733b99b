"""Masks of one channel for each class, encoded by `one_hot` once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F

CLASSES = {classes}

def dice(pred, target):
    n = pred.size(0)
    pred = pred.softmax(1).view(n, CLASSES, -1)
    target = F.one_hot(target.view(n, -1).long(), CLASSES).permute(0, 2, 1)
    overlap = (pred * target).sum((0, 2))
    return 1 - (2 * overlap / (pred + target).sum((0, 2))).mean()

class Dice(nn.Module):
    def forward(self, pred, target):
        return dice(pred, target)

net, criterion = nn.Conv2d(3, CLASSES, 3, padding=1), Dice()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(2, 3, 8, 10)
    label = torch.randint(0, CLASSES, (2, 8, 10))
    mask = {mask}
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
"""
STACKED = "torch.stack([label == c for c in range(CLASSES)], 1)"
CHANNELS = "F.one_hot(label, CLASSES).permute(0, 3, 1, 2)"


@pytest.mark.parametrize(
    ("mask", "loss", "classes", "edit"),
    [
        (STACKED, "criterion(net(x), mask)", 4, "argmax(dim=1)"),
        (STACKED + ".long()", "dice(net(x), mask)", 5, "argmax(dim=1)"),
        (CHANNELS + ".contiguous()", "criterion(net(x), target=mask)", 4,
         "target.argmax(dim=1)"),
    ],
)  # fmt: skip
def test_mask_with_channels(
    tmp_path: Path, mask: str, loss: str, classes: int, edit: str
) -> None:
    text = SCRIPT.format(mask=mask, loss=loss, classes=classes)
    finding = rehearsed(tmp_path, text).findings[0]
    assert "has a channel for each of the" in finding.message
    assert edit in str([fix.message for fix in finding.fixes])


def test_colours_and_class_numbers(tmp_path: Path) -> None:
    """Three channels may be colours; and a map of classes is no mistake."""
    right = SCRIPT.format(mask="label", loss="criterion(net(x), mask)", classes=4)
    assert not rehearsed(tmp_path, right).findings
    colours = "torch.randint(0, 3, (2, 3, 8, 10))"
    text = SCRIPT.format(mask=colours, loss="criterion(net(x), mask)", classes=3)
    assert "has a channel" not in str(rehearsed(tmp_path, text).findings)
