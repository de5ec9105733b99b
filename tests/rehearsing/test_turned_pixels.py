"""Pixels whose rows and columns a transpose exchanges, chosen by a mask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Conv2d(3, 5, 3, stride=2, padding=1)


def pool(x, labels):
    b, c, h, w = x.shape
    seg = F.interpolate(labels.unsqueeze(1).float(), size={size}, mode="nearest")
    {lines}
    return rows[seg.view(-1) == 1].mean(0)


x = net(torch.randn(2, 3, 16, {width}))
pool(x, torch.randint(0, 3, (2, 16, {width}))).sum().backward()
"""
TURNED = "rows = x.transpose(1, 3).contiguous().view(b * h * w, -1)"
EDIT = "`x.permute(0, 2, 3, 1)`"
WRONG = {
    "names": ("(h, w)", TURNED),
    "a slice": ("x.shape[-2:]", TURNED),
    "a reshape": ("(h, w)", "rows = x.transpose(1, 3).reshape(-1, c)"),
}
RIGHT = {
    "permuted": ("(h, w)", "rows = x.permute(0, 2, 3, 1).reshape(-1, c)"),
    "turned twice": ("(h, w)", "rows = x.transpose(1, 3).transpose(1, 2); "
        "rows = rows.reshape(-1, c)"),
    "a mask that is turned": ("(h, w)", TURNED + "; seg = seg.mT.contiguous()"),
    "the other order": ("(w, h)", TURNED),
    "maps of another": ("labels.shape[-2:]", "x = F.interpolate(x, 16); "
        "rows = x.transpose(1, 3).reshape(-1, c)"),
}  # fmt: skip


def list_edits(folder: Path, size: str, lines: str, width: int = 16) -> list[list[str]]:
    """The fixes of each finding of mixed dims."""
    text = SCRIPT.format(size=size, lines=lines, width=width)
    return [
        [fix.message for fix in finding.fixes]
        for finding in rehearsed(folder, text).findings
        if finding.code == "view-mixes-dims"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_turned_pixels_are_told(tmp_path: Path, name: str) -> None:
    assert list_edits(tmp_path, *WRONG[name]) == [[EDIT]]


@pytest.mark.parametrize("name", RIGHT)
def test_pixels_in_their_order_are_quiet(tmp_path: Path, name: str) -> None:
    assert list_edits(tmp_path, *RIGHT[name]) == []
