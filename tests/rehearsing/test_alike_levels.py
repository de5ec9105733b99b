"""Fixes of a skip connection that hold for each level of a decoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(3, 4, 3, padding=1)
        self.down2 = nn.Conv2d(4, 8, 3, padding=1)
        self.low = nn.Conv2d(8, 8, 3, padding=1)
        self.up2 = {up2}
        self.dec2 = nn.Conv2d(16, 4, 3, padding=1)
        self.up1 = {up1}
        self.dec1 = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        low = self.low(F.max_pool2d(d2, 2))
        u2 = self.up2(low)
        u2 = self.dec2(torch.cat({cat2}, dim=1))
        u1 = self.up1(u2)
        return self.dec1(torch.cat({cat1}, dim=1))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.randn(2, 3, 26, 26)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TRANSPOSED = {
    "up2": "nn.ConvTranspose2d(8, 8, 2, stride=2)",
    "up1": "nn.ConvTranspose2d(4, 4, 2, stride=2)",
}
UPSAMPLED = {"up2": "nn.Upsample(scale_factor=2)", "up1": "nn.Upsample(scale_factor=2)"}


@pytest.mark.parametrize(
    ("layers", "fix"),
    [
        (
            TRANSPOSED,
            "`self.up2(low, output_size=d2.shape[2:])` and"
            " `self.up1(u2, output_size=d1.shape[2:])`",
        ),
        (
            UPSAMPLED,
            "`F.interpolate(self.up2(low), size=d2.shape[2:])` and"
            " `F.interpolate(self.up1(u2), size=d1.shape[2:])`",
        ),
    ],
)
def test_each_level_gets_the_edit(
    tmp_path: Path, layers: dict[str, str], fix: str
) -> None:
    text = PROGRAM.format(**layers, cat2="[d2, u2]", cat1="[d1, u1]")
    (error,) = rehearsed(tmp_path, text).findings
    assert error.code == "joined-sizes-differ"
    assert error.fixes[0].message == fix
    assert error.fixes[0].checked


def test_a_level_that_is_joined_otherwise_is_left_as_it_is(tmp_path: Path) -> None:
    text = PROGRAM.format(**TRANSPOSED, cat2="[d2, u2]", cat1="[u1, d1]")
    (error,) = rehearsed(tmp_path, text).findings
    assert error.fixes[0].message == "`self.up2(low, output_size=d2.shape[2:])`"
