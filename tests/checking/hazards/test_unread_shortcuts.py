"""Shortcuts of blocks that nothing adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import RESULT_DROPPED
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class NAME(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x):
        residual = x
        x = self.layer(self.norm(x))
        BODY


net = nn.Sequential(NAME(), nn.Linear(8, 2))
net(torch.randn(4, 8)).sum().backward()
"""


def find_unread(folder: Path, body: str, name: str = "Block") -> list[list[str]]:
    """Return the edits of each finding on a result that nothing reads."""
    text = SCRIPT.replace("BODY", body.replace("; ", "\n        "))
    return [
        [fix.message for fix in finding.fixes]
        for finding in rehearsed(folder, text.replace("NAME", name)).findings
        if finding.code == RESULT_DROPPED
    ]


@pytest.mark.parametrize(
    ("body", "name", "edit"),
    [
        ("x = x + x; return x", "Block", "`x + residual`"),
        ("x += x; return x", "Block", "`x += residual`"),
        ("return x", "ResidualBlock", "`return x + residual`"),
    ],
)
def test_a_shortcut_that_nothing_adds(
    body: str, name: str, edit: str, tmp_path: Path
) -> None:
    assert find_unread(tmp_path, body, name) == [[edit]]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("return x + residual", "ResidualBlock"),
        ("x += residual; return x", "Block"),
        ("return x", "PlainBlock"),
        ("return self.layer(x) + x", "ResidualBlock"),
        ("return x, residual", "ResidualBlock"),
    ],
)
def test_blocks_that_are_whole(body: str, name: str, tmp_path: Path) -> None:
    assert not find_unread(tmp_path, body, name)
