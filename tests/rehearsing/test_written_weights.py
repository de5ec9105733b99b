"""Weights that a program writes into a layer, in a shape that the layer cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

MAPS = """\
import torch
from torch import nn

net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU())
colours = nn.Conv2d(3, 8, 3).weight.data
net[0].weight.data = {weight}
net(torch.rand(2, 1, 8, 8)).sum().backward()
"""
ROWS = """\
import torch
from torch import nn

head, body = nn.Linear(12, 3), nn.Linear(12, 3)
head.weight = nn.Parameter({weight})
head(torch.rand(2, 12)).sum().backward()
"""
WRONG = {
    "a mean": (
        MAPS.format(weight="colours.mean(1)"), "`colours.mean(1, keepdim=True)`",
        "`Sequential.0.weight` (8, 3, 3) is what `Tensor.mean` gave",
    ),
    "one channel": (
        MAPS.format(weight="colours[:, 0]"), "`colours[:, 0:1]`",
        "`Sequential.0.weight` (8, 3, 3) is what `[]` gave",
    ),
    "turned in vain": (
        ROWS.format(weight="body.weight.detach().clone().t()"),
        "`body.weight.detach().clone()`",
        "`Linear.weight` (12, 3) is what `Tensor.t` gave",
    ),
    "a product": (
        ROWS.format(weight="torch.eye(12) @ body.weight.detach().t()"),
        "`(torch.eye(12) @ body.weight.detach().t()).t()`",
        "`Linear.weight` (12, 3) is what `@` gave",
    ),
}  # fmt: skip
RIGHT = {
    "a mean": MAPS.format(weight="colours.mean(1, keepdim=True)"),
    "one channel": MAPS.format(weight="colours[:, :1]"),
    "rows": ROWS.format(weight="body.weight.detach().clone()"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_weight_is_mended_where_it_was_computed(case: str, tmp_path: Path) -> None:
    text, fix, place = WRONG[case]
    (finding,) = rehearsed(tmp_path, text).findings
    assert [fix.message for fix in finding.fixes][:1] == [fix]
    assert place in [related.message for related in finding.related]


@pytest.mark.parametrize("case", RIGHT)
def test_weights_of_the_shape_of_their_layer_are_no_error(
    case: str, tmp_path: Path
) -> None:
    assert not rehearsed(tmp_path, RIGHT[case]).findings
