"""What is upsampled by a factor and misses the size that it meets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

WIDTH = 99


def enlarge(x, out):
    h, w = x.shape[2:]
    return nn.Upsample(scale_factor=(out[0] / h, out[1] / w))(x)


def enlarge_to(x, height, width):
    return F.interpolate(x, scale_factor=(height / x.shape[2], width / x.shape[3]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2)
        self.up = nn.Upsample(scale_factor=2)
        self.skip = nn.Conv2d(3, 8, 3, padding=1)
        self.out = nn.Conv2d({channels}, 1, 1)

    def forward(self, x):
        skip = self.skip(x)
        y = self.down(x)
        {body}
        return self.out(y)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(2, 3, 64, WIDTH)
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ADDED = "y = torch.relu(y) + skip"
CASES = {
    "a function": (
        f"y = F.interpolate(y, scale_factor=2); {ADDED}", "`size=skip.shape[2:]`",
    ),
    "joined": (
        "y = torch.cat([F.interpolate(y, scale_factor=2), skip], dim=1)",
        "`size=skip.shape[2:]`",
    ),
    "a layer": (
        f"y = self.up(y); {ADDED}", "`F.interpolate(self.up(y), size=skip.shape[2:])`",
    ),
    "a rounded quotient": (
        f"y = enlarge(y, x.shape[2:]); {ADDED}", "`size=tuple(out)`",
    ),
    "two numbers": (
        f"y = enlarge_to(y, x.shape[2], x.shape[3]); {ADDED}",
        "`size=(height, width)`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_size_is_tried_and_no_other_data(name: str, tmp_path: Path) -> None:
    body, edit = CASES[name]
    channels = 16 if "cat" in body else 8
    report = rehearsed(tmp_path, SCRIPT.format(body=body, channels=channels))
    (finding,) = report.findings
    assert finding.severity == "error"
    messages = [each.message for each in finding.fixes]
    assert messages[0] == edit
    assert finding.fixes[0].checked
    assert not any("randn" in each or "WIDTH" in each for each in messages)
