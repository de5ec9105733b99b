"""Pieces of rows and columns that a reshape joins in the wrong pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import VIEW_MIXES_DIMS
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn


def cut(x, w):
    b, h, v, c = x.shape
    x = x.view(b, h // w, w, v // w, w, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, c)


def join(windows, w, h, v):
    b = windows.size(0) // ((h // w) * (v // w))
    x = windows.view(b, h // w, v // w, w, w, -1)
    return JOINED


x = torch.randn(2, 16, 16, 8)
net = nn.Linear(8, 8)
y = join(net(cut(x, 4)), 4, 16, 16)
MET
"""
WRONG = "x.reshape(b, h, v, -1)"
RIGHT = "x.permute(0, 1, 3, 2, 4, 5).reshape(b, h, v, -1)"
MEETINGS = {
    "a loss": "F.mse_loss(y, x).backward()",
    "a sum": "(x + torch.relu(y)).sum().backward()",
}


def find_mixed(folder: Path, joined: str, met: str) -> list[list[str]]:
    """Return the edits of each finding on a view that mixes dims."""
    text = SCRIPT.replace("JOINED", joined).replace("MET", met)
    return [
        [fix.message for fix in finding.fixes]
        for finding in rehearsed(folder, text).findings
        if finding.code == VIEW_MIXES_DIMS
    ]


@pytest.mark.parametrize("name", MEETINGS)
def test_windows_that_are_joined_without_a_permute(name: str, tmp_path: Path) -> None:
    edit = "`.permute(0, 1, 3, 2, 4, 5).reshape(b, h, v, -1)`"
    assert find_mixed(tmp_path, WRONG, MEETINGS[name]) == [[edit]]


@pytest.mark.parametrize(
    ("joined", "met"),
    [
        (RIGHT, MEETINGS["a loss"]),
        (RIGHT, MEETINGS["a sum"]),
        (WRONG, "y.sum().backward()"),
        (WRONG, "F.mse_loss(y, torch.randn(2, 16, 16, 8)).backward()"),
        ("x.reshape(-1, w * w, 8)", "F.mse_loss(y, cut(x, 4)).backward()"),
    ],
)
def test_windows_that_are_joined_as_meant(
    joined: str, met: str, tmp_path: Path
) -> None:
    assert not find_mixed(tmp_path, joined, met)
