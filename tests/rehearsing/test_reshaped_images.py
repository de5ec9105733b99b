"""Images of (height, width, channels) that are reshaped where they are to be turned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

model = nn.Conv2d(3, 4, 3)
for step in range(3):
    images = torch.randn({before})
    images = images.{method}({after})
    model(images).mean().backward()
"""


@pytest.mark.parametrize(
    ("before", "after", "edit"),
    [
        ("48, 48, 3", "3, 48, 48", ".permute(2, 0, 1)"),
        ("8, 48, 48, 3", "8, 3, 48, 48", ".permute(0, 3, 1, 2)"),
        ("48, 32, 3", "3, 48, 32", ".permute(2, 0, 1)"),
    ],
)
@pytest.mark.parametrize("method", ["reshape", "view"])
def test_height_and_width_are_not_exchanged(
    before: str, after: str, edit: str, method: str, tmp_path: Path
) -> None:
    text = PROGRAM.format(before=before, after=after, method=method)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "view-mixes-dims"
    assert [fix.message for fix in finding.fixes] == [f"`images{edit}`"]


def test_images_that_are_turned_are_quiet(tmp_path: Path) -> None:
    text = PROGRAM.format(before="48, 48, 3", after="2, 0, 1", method="permute")
    assert not rehearsed(tmp_path, text).findings


HEADS = """\
import torch
from torch import nn

scores = nn.Conv2d(8, 5, 1)
for step in range(3):
    maps = torch.randn(6, 8, 10, 14)
    b, c, h, w = maps.shape
    flat = maps.view(b, 2, c // 2, h * w).transpose(2, 3)
    heads = flat.softmax(2) * flat
    heads = {cut}
    scores(heads.reshape(b, c, h, w)).mean().backward()
"""


@pytest.mark.parametrize(
    "cut",
    [
        "torch.reshape(heads, (b, 2, c // 2, h, w))",
        "torch.reshape(heads, [b, 2, c // 2, h, w])",
        "heads.reshape(b, 2, c // 2, h, w)",
        "heads.reshape((b, 2, c // 2, h, w))",
        "heads.contiguous().view(b, 2, c // 2, h, w)",
    ],
)
def test_pixels_of_heads_go_behind_their_features(cut: str, tmp_path: Path) -> None:
    (finding,) = rehearsed(tmp_path, HEADS.format(cut=cut)).findings
    assert finding.code == "view-mixes-dims"
    (fix,) = finding.fixes
    assert ".transpose(2, 3).reshape(" in fix.message


def test_pixels_that_are_turned_are_quiet(tmp_path: Path) -> None:
    cut = "torch.reshape(heads.transpose(2, 3), (b, 2, c // 2, h, w))"
    assert not rehearsed(tmp_path, HEADS.format(cut=cut)).findings
