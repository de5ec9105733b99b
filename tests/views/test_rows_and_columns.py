"""Which rows and columns of a trace are shown: depth, order, columns, folding."""

from __future__ import annotations

import torch
from torch import nn

import shapewright as sw
from shapewright.views.terminal import TableOptions, format_trace


class Block(nn.Module):
    def __init__(self, size: int, wide: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(size, wide, 1)
        self.bn1 = nn.BatchNorm2d(wide)
        self.conv2 = nn.Conv2d(wide, size, 1)
        self.bn2 = nn.BatchNorm2d(size)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.act(self.bn2(self.conv2(self.act(self.bn1(self.conv1(x))))))


class Net(nn.Module):
    """Stages of different widths, so that no two of them are folded into a row."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Sequential(Block(8, wide), Block(8, 2 * wide), Block(8, 2 * wide))
            for wide in (4, 8, 16, 32)
        )
        self.head = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


TRACE = sw.trace(Net(), "f32[2, 8, 4, 4]")


def _show(**options: object) -> list[str]:
    text = format_trace(TRACE, width=120, options=TableOptions(**options))  # type: ignore[arg-type]
    return text.splitlines()


def test_a_long_table_is_cut_at_the_deepest_level_that_fits_a_screen() -> None:
    lines = _show()
    assert len(lines) < 50
    assert any("stages.3" in line for line in lines)
    assert any("1 - 2" in line and "Block x 2" in line for line in lines)
    assert not any("conv1" in line for line in lines)
    (more,) = [line for line in lines if "not shown" in line]
    assert "`--depth 3` shows all" in more


def test_depth_says_how_deep() -> None:
    assert not any("1 - 2" in line for line in _show(depth=1))
    whole = _show(depth=3)
    assert any("conv1" in line for line in whole)
    assert not any("not shown" in line for line in whole)
    assert sum("├" in line or "└" in line for line in _show(depth=0)) == 0


def test_sorted_rows_are_the_innermost_with_their_repetitions() -> None:
    lines = _show(sort="params")
    first = next(line for line in lines if "stages" in line)
    assert first.startswith("stages.3.1 - 2.conv")
    assert "2 x 520" in first or "2 x 576" in first
    parameters = [row for row in lines if row.startswith(("stages", "head"))]
    assert parameters[-1].startswith("stages.")


def test_what_sorted_rows_cost_is_the_whole() -> None:
    from shapewright.views.table_rows import build_module_rows

    rows = build_module_rows(TRACE, TRACE.totals, flat=True)
    assert sum(row.get_cost("params") for row in rows) == TRACE.totals.parameters
    assert sum(row.get_cost("flops") for row in rows) == TRACE.totals.flops


def test_columns_are_those_asked_for_in_their_order() -> None:
    lines = _show(columns=("params", "module"))
    assert lines[2].split() == ["params", "module"]
    assert any(line.endswith("head") for line in lines)


def test_modules_called_in_turn_are_folded() -> None:
    class Turns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.GRUCell(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(30):
                x = self.out(self.cell(x))
            return x

    trace = sw.trace(Turns(), "f32[2, 4]")
    lines = format_trace(trace, width=100).splitlines()
    (cell,) = [line for line in lines if "cell" in line]
    (out,) = [line for line in lines if "out " in line and "Linear" in line]
    assert "cell (calls 1 - 30)" in cell
    assert "out (calls 1 - 30)" in out


def test_nothing_breaks_inside_a_word_and_what_has_no_room_is_said() -> None:
    text = format_trace(TRACE, width=80)
    assert "no room at 80 columns for allocated" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    wide = {word for line in _show() for word in line.split()}
    for line in text.splitlines()[:20]:
        for word in line.split():
            assert word in wide or not word.endswith("…"), word
