"""Products of maps whose positions, or channels, were to meet each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

conv, other = nn.Conv2d(3, 12, 3), nn.Conv2d(3, 12, 3)


def compare(one, two):
    {rows}


for step in range(3):
    x = torch.randn(4, 3, 18, 26)
    maps, others = conv(x), other(x)
    {call}.mean().backward()
"""
ONE = "compare(maps[0], others[0])"
MOVED = "compare(maps[0].permute(1, 2, 0), others[0])"
ALL = "compare(maps, others)"
WRONG = {
    "positions of one map": (
        "return torch.bmm(one.permute(1, 2, 0), one)",
        ONE,
        "torch.matmul(one.flatten(1).t(), one.flatten(1))",
    ),
    "positions of two maps": (
        "return one.permute(1, 2, 0) @ two",
        ONE,
        "one.flatten(1).t() @ two.flatten(1)",
    ),
    "channels of one map": (
        "return torch.matmul(one, one.permute(1, 2, 0))",
        ONE,
        "torch.matmul(one.flatten(1), one.flatten(1).t())",
    ),
    "positions of a batch": (
        "return (one.permute(0, 2, 3, 1) @ two).softmax(-1)",
        ALL,
        "(one.flatten(2).transpose(1, 2) @ two.flatten(2))",
    ),
    "a name": (
        "turned = one.permute(1, 2, 0)\n    return torch.bmm(turned, one)",
        ONE,
        "torch.matmul(one.flatten(1).t(), one.flatten(1))",
    ),
    "a name from elsewhere": ("return torch.bmm(one, two)", MOVED, ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_maps_are_flattened_before_they_are_multiplied(
    case: str, tmp_path: Path
) -> None:
    rows, call, edit = WRONG[case]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(rows=rows, call=call)).findings
    fixes = [fix.message for fix in finding.fixes]
    assert fixes == ([f"`{edit}`"] if edit else [])


def test_a_product_of_rows_keeps_its_fixes(tmp_path: Path) -> None:
    rows = "return torch.bmm(one, two)"
    (finding,) = rehearsed(tmp_path, SCRIPT.format(rows=rows, call=ONE)).findings
    assert "flatten" not in finding.fixes[0].message
