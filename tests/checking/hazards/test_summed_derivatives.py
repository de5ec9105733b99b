"""Derivatives of a field that are added up over its columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, {columns}))
xy = torch.rand(16, 2, requires_grad=True)
vel = net(xy)
{lines}
loss.backward()
"""
ONES = "g = torch.autograd.grad(vel, xy, torch.ones_like(vel), create_graph=True)[0]\n"
FIX = (
    "`sum(torch.autograd.grad(vel[:, i].sum(), xy, create_graph=True)[0][:, i]"
    " for i in range(2))`"
)
WRONG = {
    "a divergence": (ONES + "loss = (g[:, 0] + g[:, 1]).pow(2).mean()", [FIX]),
    "of a sum": (
        "(g,) = torch.autograd.grad(vel.sum(), xy, create_graph=True)\n"
        "loss = (g[:, 0] + g[:, 1]).pow(2).mean()",
        [FIX],
    ),
    "two names": (
        ONES + "u_x, u_y = g[:, 0:1], g[:, 1:2]\nloss = (u_x - u_y).pow(2).mean()",
        [],
    ),
    "by name": (
        "g, = torch.autograd.grad(outputs=vel, inputs=xy, grad_outputs="
        "torch.ones_like(vel), create_graph=True)\nloss = g[:, 0].pow(2).mean()",
        [],
    ),
}
RIGHT = {
    "each column": "g = [torch.autograd.grad(vel[:, i].sum(), xy, create_graph=True)[0]"
    " for i in range(2)]\nloss = (g[0][:, 0] + g[1][:, 1]).pow(2).mean()",
    "one column": "u = vel[:, :1]\n"
    "g = torch.autograd.grad(u, xy, torch.ones_like(u), create_graph=True)[0]\n"
    "loss = (g[:, 0] + g[:, 1]).pow(2).mean()",
    "a penalty": ONES + "loss = (g.norm(2, dim=1) - 1).pow(2).mean()",
    "weights": "w = torch.zeros_like(vel)\nw[:, 0] = 1\n"
    "g = torch.autograd.grad(vel, xy, w, create_graph=True)[0]\n"
    "loss = g[:, 0].pow(2).mean()",
}


def find_sums(folder: Path, lines: str, columns: int = 2) -> list[list[str]]:
    """The checked fixes of each finding of derivatives."""
    report = rehearsed(folder, SCRIPT.format(lines=lines, columns=columns))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "summed-derivatives"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_summed_derivatives_are_told(name: str, tmp_path: Path) -> None:
    lines, fixes = WRONG[name]
    assert find_sums(tmp_path, lines) == [fixes]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_other_gradients(name: str, tmp_path: Path) -> None:
    assert find_sums(tmp_path, RIGHT[name]) == []


def test_a_field_of_one_column_has_its_own(tmp_path: Path) -> None:
    lines = ONES + "loss = (g[:, 0] + g[:, 1]).pow(2).mean()"
    assert find_sums(tmp_path, lines, columns=1) == []
