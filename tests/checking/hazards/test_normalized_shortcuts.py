"""Shortcuts that add a normalized tensor, beside one that adds the tensor itself."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.norm3 = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gate = nn.Linear(width, width)

    def forward(self, x):
{forward}
        return x


net = nn.Sequential(Block(8), Block(8), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = F.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PRE = "x = x + self.mix(self.norm1(x))\n"
MLP = "x = x + self.down(F.gelu(self.up(x)))"
BRANCH = "`self.norm2(x)` in the branch alone"
WRONG = {
    "a block": (PRE + "x = self.norm2(x)\n" + MLP, BRANCH),
    "another name": (
        PRE + "x = self.norm2(x)\ny = self.down(F.gelu(self.up(x)))\nx = x + y",
        BRANCH),
    "first steps": (
        "h = self.norm1(x)\nh = self.mix(h)\nx = h + x\nx = self.norm2(x)\n"
        "h = self.up(x)\nh = self.down(F.gelu(h))\nx = h + x", BRANCH),
    "in place": (
        "x += self.mix(self.norm1(x))\nx = self.norm2(x)\nx += self.down(self.up(x))",
        BRANCH),
    "two reads": (
        PRE + "x = self.norm2(x)\nx = x + self.down(self.up(x)) * self.gate(x)",
        "`x_normed = self.norm2(x)`, for the branch alone"),
}  # fmt: skip
RIGHT = {
    "norms of the branches": PRE + "x = x + self.down(self.up(self.norm2(x)))",
    "norms of the sums": "x = x + self.mix(x)\nx = self.norm1(x)\n" + MLP
    + "\nx = self.norm2(x)",
    "a norm behind both": PRE + "x = x + self.down(self.up(self.norm2(x)))\n"
    "x = self.norm3(x)",
    "norms of results": "x = x + self.norm1(self.mix(x))\nx = self.norm2(x)\n" + MLP,
    "a norm of the second sum too": PRE + "x = self.norm2(x)\n" + MLP
    + "\nx = self.norm3(x)",
    "another name": PRE + "h = self.norm2(x)\nx = x + self.down(self.up(h))",
    "no second shortcut": PRE + "x = self.norm2(x)\nx = self.down(self.up(x))",
}  # fmt: skip


def list_findings(folder: Path, forward: str) -> list[Finding]:
    """Return what is said of results that are lost."""
    report = rehearsed(folder, SCRIPT.format(forward=indent(forward, " " * 8)))
    assert report.complete, report
    return [found for found in report.findings if found.code == "result-dropped"]


@pytest.mark.parametrize("name", WRONG)
def test_a_normalized_shortcut_is_found(name: str, tmp_path: Path) -> None:
    forward, first = WRONG[name]
    (finding,) = list_findings(tmp_path, forward)
    assert "adds the normalized tensor" in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [first]


@pytest.mark.parametrize("name", RIGHT)
def test_other_blocks_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_findings(tmp_path, RIGHT[name]) == []
