"""Layers whose own forward takes the graph of what they compute away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size))

    def forward(self, x):
        LINES


model = nn.Sequential(Gate(6), Gate(6), nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 6), torch.randint(3, (8,))
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
ENDS = "the graph of what they compute ends here"
CUT = {
    "an array": (
        "factor = self.weight.sigmoid().detach().numpy()\n"
        "        return torch.as_tensor(x.detach().numpy() * factor)",
        12,
    ),
    "values only": ("factor = self.weight.exp().data\n        return x * factor", 12),
}


def list_ends(folder: Path, lines: str) -> list[list[int]]:
    """The lines at which graphs end, of each finding of missing gradients."""
    report = rehearsed(folder, SCRIPT.replace("LINES", lines))
    return [
        [place.span.line for place in found.related if place.message == ENDS]
        for found in report.findings
        if found.code == "no-gradient"
    ]


@pytest.mark.parametrize(("lines", "line"), CUT.values(), ids=CUT)
def test_the_end_of_the_graph_is_shown(tmp_path: Path, lines: str, line: int) -> None:
    (ends,) = list_ends(tmp_path, lines)
    assert ends == [line]


def test_an_unused_parameter_has_no_end_of_a_graph(tmp_path: Path) -> None:
    assert list_ends(tmp_path, "return x.tanh()") == [[]]


def test_a_straight_through_estimator_keeps_its_graph(tmp_path: Path) -> None:
    lines = "y = x * self.weight\n        return y + (y.round() - y).detach()"
    assert list_ends(tmp_path, lines) == []
