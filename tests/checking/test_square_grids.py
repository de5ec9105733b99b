"""Patterns of einops that are written for another square grid of tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright import api

PROGRAM = """\
import torch
from torch import nn
from einops import rearrange
from einops.layers.torch import Rearrange

GRID = 14


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_map = Rearrange("b (h w) c -> b c h w", {to_map})
        self.conv = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.to_rows = Rearrange("b c h w -> b (h w) c", {to_rows})

    def forward(self, x):
        return self.to_rows(self.conv(self.to_map(x)))


def example_inputs():
    return (torch.randn(2, {tokens}, 8),)
"""
BOTH = "`h=7, w=7` in both patterns"


@pytest.mark.parametrize(
    ("to_map", "to_rows", "shown", "edits"),
    [
        ("h=14, w=14", "h=14, w=14", BOTH, 4),
        ("h=GRID, w=GRID", "h=GRID, w=GRID", BOTH, 1),
        ("h=14, w=14", "h=7, w=7", "`h=7, w=7`", 2),
    ],
)
def test_a_square_grid_keeps_its_form(
    to_map: str, to_rows: str, shown: str, edits: int, tmp_path: Path
) -> None:
    file = tmp_path / "mixer.py"
    file.write_text(PROGRAM.format(to_map=to_map, to_rows=to_rows, tokens=49))
    (finding,) = api.check_target(f"{file}:Mixer").findings
    assert finding.fixes[0].message == shown
    assert finding.fixes[0].checked
    assert {edit.text for edit in finding.fixes[0].edits} == {"7"}
    assert len(finding.fixes[0].edits) == edits


@pytest.mark.parametrize(
    ("sizes", "tokens"), [("h=14, w=14", 48), ("h=14, w=7", 49), ("h=14", 49)]
)
def test_other_grids_are_not_made_square(
    sizes: str, tokens: int, tmp_path: Path
) -> None:
    file = tmp_path / "mixer.py"
    file.write_text(PROGRAM.format(to_map=sizes, to_rows=sizes, tokens=tokens))
    for finding in api.check_target(f"{file}:Mixer").findings:
        assert not any(" patterns" in fix.message for fix in finding.fixes)
