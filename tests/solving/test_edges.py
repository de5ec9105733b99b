"""Demands are tried at their edges and between them before they are printed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import shapewright as sw
from shapewright.commands.solve.sample_sizes import iter_edge_sizes


class Windows(nn.Module):
    """Patches of 4, halved after each window of 7: only multiples of 56 fit."""

    def forward(self, x: Tensor) -> Tensor:
        for cut in (4, 2):
            x = x.unflatten(2, (-1, cut)).mean(3)
            x = x.unflatten(2, (-1, 7)).flatten(2, 3)
        return x


class Positions(nn.Module):
    """Patches of 4 with positions for 8 x 8 of them, whatever their sides are."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(64))

    def forward(self, x: Tensor) -> Tensor:
        x = x.unflatten(3, (-1, 4)).mean(4)
        x = x.unflatten(2, (-1, 4)).mean(3)
        rows, columns = x.shape[2:]
        return x + self.positions[: rows * columns].view(rows, columns)


class Tokens(nn.Module):
    """Laid out in rows by the root of their number, which no plain demand says."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(962, 8))
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.conv2d(x, torch.ones(8, 3, 14, 14), stride=7).flatten(2).transpose(1, 2)
        x = x + self.positions[: x.shape[1]]
        rows = int(x.shape[1] ** 0.5)
        x = x.unflatten(1, (rows, x.shape[1] // rows))
        return self.head(x.mean((1, 2)))


class Rows(nn.Module):
    """At most 40 rows of 8: a limit of one letter, far above usual sizes."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.unflatten(1, (-1, 8)).mean(2)
        return x + torch.zeros(40)[: x.shape[1]]


def holds(sizes: int) -> bool:
    return sizes % 56 == 0


def test_sizes_between_and_beyond_what_was_learnt_are_tried() -> None:
    def takes(sizes: Any) -> bool:
        return 112 <= sizes["H"] <= 672 and sizes["H"] % 32 == 0

    tried = [
        each["H"]
        for each in iter_edge_sizes(takes, {"H": 224}, [("H",)], lambda _: 2048)
    ]
    assert tried[:6] == [256, 288, 320, 192, 160, 128]
    assert {640, 672} <= set(tried)  # the upper edge
    assert {112, 223, 225} <= set(tried)  # refused, or beside what is allowed
    assert {704, 736, 96, 64} <= set(tried)  # beyond, where only a bound refuses


def test_sides_of_an_image_move_together_and_apart() -> None:
    every = iter_edge_sizes(
        lambda s: True, {"H": 8, "W": 8}, [("H", "W")], lambda _: 64
    )
    tried = [(each["H"], each["W"]) for each in every]
    assert {(1, 1), (7, 7), (9, 9), (63, 63)} <= set(tried)
    assert {(1, 63), (63, 1)} <= set(tried)


def test_demand_of_windows() -> None:
    solution = sw.solve(Windows(), "f32[B, 3, H]")
    sizes = (28, 56, 84, 112, 168, 224, 252, 256, 280, 336)
    taken = [size for size in sizes if solution.takes(B=2, H=size)]
    assert taken == [size for size in sizes if holds(size)]
    assert not solution.tried


def test_limit_of_a_product_is_none_of_each_side() -> None:
    solution = sw.solve(Positions(), "f32[B, 3, H, W]")
    assert "H*W <= 1024" in [each.text for each in solution.demands]
    sides = [(32, 32), (64, 16), (4, 256), (8, 128), (36, 28), (128, 8)]
    refused = [(36, 32), (34, 32), (128, 12), (4, 260), (2, 2)]
    assert all(solution.takes(B=2, H=height, W=width) for height, width in sides)
    assert not any(solution.takes(B=2, H=height, W=width) for height, width in refused)


def test_upper_bound_stands_at_its_own_edge() -> None:
    solution = sw.solve(Rows(), "f32[B, T]")
    taken = [T for T in range(1, 2048) if solution.takes(B=2, T=T)]
    assert taken == list(range(8, 321, 8))


def test_batch_stays_a_letter_where_only_sizes_are_listed() -> None:
    solution = sw.solve(Tokens(), "f32[B, 3, H, W]")
    assert solution.tried
    assert not solution.demands
    assert str(solution.output.shape) == "(B, 10)"


class Row(nn.Module):
    """Patches of 16 in a row of 392: an image of 224 x 448, say, never a square one."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(392))

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 16, ceil_mode=True).flatten(2) + self.positions


def test_where_no_side_fits_alone_both_are_moved() -> None:
    """No height is taken with a usual width; what is taken is not told too narrowly."""
    solution = sw.solve(Row(), "f32[B, 3, H, W]")
    assert solution.works is not None
    for height, width in ((224, 448), (448, 224), (112, 896), (224, 224), (440, 216)):
        sizes = {"B": 2, "H": height, "W": width}
        said = [each.demand for each in solution.demands]
        said += [] if solution.whole is None else [solution.whole]
        rows, columns = -(-height // 16), -(-width // 16)
        assert {each.holds(sizes) for each in said} == {rows * columns == 392}
