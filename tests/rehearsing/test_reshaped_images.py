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
