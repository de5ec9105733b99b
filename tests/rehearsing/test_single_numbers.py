"""Tensors of several elements where a single number is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

START = """\
import torch
from torch import nn

net, criterion = nn.Linear(4, 1), nn.MSELoss(reduction="none")
x, y = torch.randn(6, 4), torch.randn(6, 1)
rows = torch.rand(6) < 0.5
"""
CASES = {
    "a sum over samples": (
        "total, seen = 0.0, 0\nfor step in range(3):\n"
        "    losses = criterion(net(x), y)\n    total += losses.item()\n"
        "    seen += len(x)\nprint(total / seen)",
        "`losses.sum()`",
    ),
    "a mean of batches": (
        "total, loader = 0.0, [x, x]\nfor batch in loader:\n"
        "    total += criterion(net(batch), y).item()\nprint(total / len(loader))",
        "`criterion(net(batch), y).mean()`",
    ),
    "printed": ("print(criterion(net(x), y).item())", "`criterion(net(x), y).mean()`"),
    "one element with a dim": (
        "error = (net(x) - y).abs().mean(dim=0)\nprint(f'error {error:.3f}')",
        "`{error.item():.3f}`",
    ),
    "all rows into some": ("x[rows] = torch.randn(6, 4)", "`torch.randn(6, 4)[rows]`"),
    "all rows of another into some": (
        "other = x[torch.randperm(6)]\nx[rows] = other\nprint(net(x).shape)",
        "`other[rows]`",
    ),
}
RIGHT = {
    "one element": "print(criterion(net(x), y).mean().item(), y[:1].item())",
    "no dims": "print(f'{criterion(net(x), y).mean():.3f}')",
    "the same rows": "x[rows] = torch.randn(6, 4)[rows]",
    "one row for all": "x[rows] = torch.randn(4)\nx[rows] = torch.zeros(1, 4)",
    "all rows": "x[torch.ones(6, dtype=torch.bool)] = torch.randn(6, 4)",
}


@pytest.mark.parametrize("name", CASES)
def test_the_number_or_the_rows_are_written(name: str, tmp_path: Path) -> None:
    body, fix = CASES[name]
    found = next(
        each for each in rehearsed(tmp_path, f"{START}{body}\n").findings
        if each.severity == "error"
    )  # fmt: skip
    assert found.fixes[0].message == fix
    assert found.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_numbers_and_rows_that_fit_are_left(name: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, f"{START}{RIGHT[name]}\n").findings
    assert not [each for each in findings if each.severity == "error"]


def test_a_library_that_refuses_assumed_numbers_is_no_fault_of_an_edit(
    tmp_path: Path,
) -> None:
    """NumPy's numbers are not known: what they are refused for says nothing."""
    body = """\
import numpy as np

class KMeans:
    def fit(self, table):
        if np.isnan(table).any():
            raise ValueError("Input X contains NaN.")

codes = net(x)
codes = codes.numpy()
codes = (codes - codes.mean(0)) / codes.std(0)
KMeans().fit(codes)
"""
    errors = [
        each for each in rehearsed(tmp_path, START + body).findings
        if each.severity == "error"
    ]  # fmt: skip
    assert [each.code for each in errors] == ["to-numpy"]
    assert errors[0].fixes[0].message == "`codes.detach()`"
