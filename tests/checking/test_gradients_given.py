"""Gradients that are given to a backward pass in another shape than their tensor's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

net = nn.Linear(6, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    values = net(torch.rand(8, 6)).gather(1, torch.zeros(8, 1).long()).squeeze(1)
    error = torch.rand(8)
    optimizer.zero_grad()
    values.backward({given})
    optimizer.step()
"""
WRONG = {
    "-error.unsqueeze(1)": "-error",
    "error.clamp(-1, 1).data.unsqueeze(1)": "error.clamp(-1, 1).data",
    "error.unsqueeze(-1)": "error",
}


@pytest.mark.parametrize("given", WRONG)
def test_the_dim_is_left_out_where_it_is_added(tmp_path: Path, given: str) -> None:
    (found,) = rehearsed(tmp_path, SCRIPT.format(given=given)).findings
    assert found.code == "shape-mismatch"
    assert "(8, 1) as the gradient of `values` (8,)" in found.message
    (edit,) = found.fixes[0].edits
    assert edit.text == ""
    assert found.fixes[0].checked


def test_a_gradient_of_its_shape_is_right(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, SCRIPT.format(given="-error")).findings == ()
