"""Demands are tried at their edges and between them before they are printed."""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor, nn

import shapewright as sw
from shapewright.solving.edges import edge_sizes


class Windows(nn.Module):
    """Patches of 4, halved after each window of 7: only multiples of 56 fit."""

    def forward(self, x: Tensor) -> Tensor:
        for cut in (4, 2):
            x = x.unflatten(2, (-1, cut)).mean(3)
            x = x.unflatten(2, (-1, 7)).flatten(2, 3)
        return x


def holds(sizes: int) -> bool:
    return sizes % 56 == 0


def test_sizes_between_and_beyond_what_was_learnt_are_tried() -> None:
    def takes(sizes: Any) -> bool:
        return 112 <= sizes["H"] <= 672 and sizes["H"] % 32 == 0

    tried = [
        each["H"] for each in edge_sizes(takes, {"H": 224}, [("H",)], lambda _: 2048)
    ]
    assert tried[:6] == [256, 288, 320, 192, 160, 128]
    assert {640, 672} <= set(tried)  # the upper edge
    assert {112, 223, 225} <= set(tried)  # refused, or beside what is allowed


def test_sides_of_an_image_move_together() -> None:
    tried = list(
        edge_sizes(lambda s: True, {"H": 8, "W": 8}, [("H", "W")], lambda _: 64)
    )
    assert all(each["H"] == each["W"] for each in tried)


@pytest.mark.parametrize("size", [28, 56, 84, 112, 168, 224, 252, 256, 280, 336])
def test_demand_of_windows(size: int) -> None:
    solution = sw.solve(Windows(), "f32[B, 3, H]")
    assert solution.takes(B=2, H=size) == holds(size)
    assert not solution.tried
