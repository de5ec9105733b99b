"""Pixels that are divided by 255 twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

rng = np.random.default_rng(0)
pictures = rng.integers(0, 256, (48, 8, 8, 3)).astype(np.uint8)


def to_tensor(picture):
    picture = torch.from_numpy(picture).permute(2, 0, 1)
    return picture.float().div(255)


class Pictures(Dataset):
    def __len__(self):
        return len(pictures)

    def __getitem__(self, i):
        x = {item}
        return x, i % 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(4, 3)

    def forward(self, x):
        {forward}
        return self.fc(self.conv(x).relu().mean((2, 3)))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Pictures(), batch_size=16):
    {step}
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ITEM = "to_tensor(pictures[i])"
RAW = "torch.from_numpy(pictures[i]).permute(2, 0, 1)"
SCALED = "torch.from_numpy(pictures[i] / np.float32(255)).permute(2, 0, 1)"
WRONG = {
    "the item": (ITEM + " / 255.0", "pass", "pass", "`to_tensor(pictures[i])`"),
    "the loop": (ITEM, "pass", "x = x.float() / 255", "`x.float()`"),
    "in place": (ITEM, "pass", "x /= 255.0", "no `x /= 255.0`"),
    "a method": (ITEM, "pass", "x = x.flip(-1).div(255)", "`x.flip(-1)`"),
    "the model": (ITEM, "x = x / 255.0", "pass", "`x`"),
    "a factor": (ITEM, "x = x * (1 / 255)", "pass", "`x`"),
    "an array": (SCALED, "pass", "x = x / 255.0", "`x`"),
}
RIGHT = {
    "once": (ITEM, "pass", "pass"),
    "bytes": (RAW, "pass", "x = x.float() / 255"),
    "the model": (RAW, "x = x.float() / 255.0", "pass"),
    "back and again": (ITEM, "pass", "x = (x * 255).round() / 255"),
    "another number": (ITEM, "x = x / 0.225", "pass"),
    "noise": (ITEM, "pass", "x = x + torch.rand_like(x) / 255"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_second_division_is_found(name: str, tmp_path: Path) -> None:
    item, forward, step, fix = WRONG[name]
    text = SCRIPT.format(item=item, forward=forward, step=step)
    report = rehearsed(tmp_path, text)
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "unscaled-pixels"]
    assert "between 0 and 1 already" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_other_divisions_are_quiet(name: str, tmp_path: Path) -> None:
    item, forward, step = RIGHT[name]
    text = SCRIPT.format(item=item, forward=forward, step=step)
    report = rehearsed(tmp_path, text)
    assert report.complete, report
    assert "unscaled-pixels" not in [f.code for f in report.findings]
