"""Numbers for sizes to which a value is expanded that meets maps of other sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.last = nn.Conv2d(9, 1, 3, padding=1)

    def forward(self, img):
        feat = self.conv(img)
        spread = feat.std(0).mean()
        copies = {copies}
        return self.last({joined})

Critic()(torch.randn(4, 3, 10, 10)).mean().backward()
"""
CAT = "torch.cat([feat, copies], 1)"


@pytest.mark.parametrize(
    ("copies", "shown"),
    [
        (
            "spread.expand(feat.size(0), 1, 4, 4)",
            "`spread.expand(feat.size(0), 1, feat.size(2), feat.size(3))`",
        ),
        (
            "spread.view(1, 1, 1, 1).repeat(len(feat), 1, 4, 4)",
            "`spread.view(1, 1, 1, 1).repeat(len(feat), 1, feat.size(2), "
            "feat.size(3))`",
        ),
        (
            "spread.expand((feat.shape[0], 1, 5, 4))",
            "`spread.expand(feat.shape[0], 1, 5, feat.size(3))`",
        ),
    ],
)
def test_sizes_are_read_from_what_the_copies_meet(
    copies: str, shown: str, tmp_path: Path
) -> None:
    text = PROGRAM.format(copies=copies, joined=CAT)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == shown
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "copies",
    [
        "spread.expand(feat.size(0), 1, 5, 5)",
        "spread.expand(feat.size(0), 1, feat.size(2), feat.size(3))",
        "feat.mean((1, 2, 3), keepdim=True).expand(-1, 1, 5, 5)",
    ],
)
def test_sizes_that_fit_stay(copies: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, PROGRAM.format(copies=copies, joined=CAT)).findings
    assert not [finding for finding in findings if finding.severity == "error"]


DRAWN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

net = nn.Linear(8, 8)
for x in DataLoader(torch.ones(20, 8), batch_size=4):
    noise = torch.randn(2, 8)
    net(x + noise).sum().backward()
"""


def test_numbers_of_each_sample_are_not_drawn_once(tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, DRAWN).findings
    assert finding.fixes
    assert not any("randn(1," in fix.message for fix in finding.fixes)
