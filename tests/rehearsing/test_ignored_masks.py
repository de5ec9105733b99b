"""Masks that are not causal beside `is_causal=True`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
at = torch.arange(9)
apart = at[None, :] - at[:, None]
{mask}
for step in range(2):
    loss = {call}.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
X = "torch.randn(4, 9, 8)"
CALL = f"encoder({X}, mask=mask, is_causal=True)"
ADDED = "mask = torch.zeros(9, 9).masked_fill(apart.abs() > 3, float('-inf'))"
WRONG = {
    "a window that is added": (ADDED, CALL),
    "a window of truths": ("mask = apart.abs() > 3", CALL),
    "by place": ("mask = apart.abs() > 3", f"encoder({X}, mask, is_causal=True)"),
    "blocks": ("part = at // 3; mask = part[None, :] != part[:, None]", CALL),
}
RIGHT = {
    "no flag": (ADDED, f"encoder({X}, mask=mask)"),
    "a triangle": ("mask = torch.triu(torch.ones(9, 9), 1).bool()", CALL),
    "of torch": ("mask = nn.Transformer.generate_square_subsequent_mask(9)", CALL),
    "compared": ("mask = at[None, :] > at[:, None]", CALL),
    "a difference": ("mask = apart > 0", CALL),
    "a window of the past": ("mask = (apart.abs() > 3) | (apart > 0)", CALL),
    "written": (
        "mask = torch.ones(9, 9)\nfor i in range(9):\n    mask[i, : i + 1] = 0\n"
        "mask = mask.bool()",
        CALL,
    ),
}


def find_masks(folder: Path, mask: str, call: str) -> list[Finding]:
    report = rehearsed(folder, SCRIPT.format(mask=mask, call=call))
    assert report.complete
    return [
        each for each in report.findings if "`is_causal=True` tells" in each.message
    ]


@pytest.mark.parametrize("case", WRONG)
def test_a_mask_that_is_not_read_is_told(case: str, tmp_path: Path) -> None:
    (finding,) = find_masks(tmp_path, *WRONG[case])
    assert finding.code == "mask-axis"
    fixes = [each.message for each in finding.fixes if each.checked]
    assert fixes == ["without `is_causal=True`"]


@pytest.mark.parametrize("case", RIGHT)
def test_masks_of_the_future_are_quiet(case: str, tmp_path: Path) -> None:
    assert not find_masks(tmp_path, *RIGHT[case])
