"""Batches that a condition on their dims takes for one sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.inputs = inputs
        self.conv = nn.Conv1d(inputs, outputs, 3, padding=1)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, x):
        {view}
        return self.norm(self.conv(x)).flatten(1)


model = nn.Sequential(Block(3, 6), nn.ReLU(), Block(6, 4), nn.Linear(4 * 20, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    batch = torch.randn(8, 3, 20)
    loss = model({data}).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BRANCHES = """
        if {test}:
            x = x.view(x.shape[0], self.inputs, -1)
        else:
            x = x.view(self.inputs, -1)"""
WRONG = {
    "dim()": ("x.dim() == 2", BRANCHES),
    "ndim": ("x.ndim == 2", BRANCHES),
    "a shape": ("len(x.shape) == 2", BRANCHES),
    "an expression": (
        "x.dim() == 2",
        "x = x.view(len(x), self.inputs, -1) if {test} else x.view(self.inputs, -1)",
    ),
    "the other way round": (
        "x.dim() != 2",
        "\n        if {test}:\n            x = x.view(self.inputs, -1)\n        else:\n"
        "            x = x.view(x.shape[0], self.inputs, -1)",
    ),
    "a name": (
        "x.dim() == 2",
        "is_batch = {test}\n        x = x.view(len(x), self.inputs, -1) if is_batch"
        " else x.view(self.inputs, -1)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_condition_is_told_and_the_samples_are_flattened(
    case: str, tmp_path: Path
) -> None:
    test, view = WRONG[case]
    text = SCRIPT.format(view=view.format(test=test), data="batch")
    finding = rehearsed(tmp_path, text).findings[0]
    assert finding.message.startswith(f"`{test}` takes the batch `x` (8, 3, 20)")
    assert [fix.message for fix in finding.fixes] == ["`batch.flatten(1)`"]


@pytest.mark.parametrize("case", WRONG)
def test_flat_samples_are_quiet(case: str, tmp_path: Path) -> None:
    test, view = WRONG[case]
    text = SCRIPT.format(view=view.format(test=test), data="batch.flatten(1)")
    assert not rehearsed(tmp_path, text).findings


def test_a_view_without_a_condition_is_another_mistake(tmp_path: Path) -> None:
    text = SCRIPT.format(view="x = x.view(self.inputs, -1)", data="batch")
    finding = rehearsed(tmp_path, text).findings[0]
    assert "takes the batch" not in finding.message
