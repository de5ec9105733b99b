"""A pair of values and indices in place of a tensor, whatever Python says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import nn

net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, r = torch.randn(8, 4), torch.randn(8)
gamma = 0.9
for step in range(2):
    {}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        ("loss = (r - gamma * net(x).max(1)).mean()", "net(x).max(1).values"),
        ("loss = (net(x).max(1) + r).mean()", "net(x).max(1).values"),
        ("loss = (r + net(x).min(1)).mean()", "net(x).min(1).values"),
        ("loss = (r * net(x).min(-1)).mean()", "net(x).min(-1).values"),
        ("loss = (net(x).max(dim=1) - r).mean()", "net(x).max(dim=1).values"),
        ("loss = (torch.sort(net(x)) / 2).mean()", "torch.sort(net(x)).values"),
        ("loss = net(x).topk(3).mean()", "net(x).topk(3).values"),
        ("q = net(x).max(1)\nloss = (r - gamma * q).mean()", "net(x).max(1).values"),
        ("q = net(x).max(1)\nloss = (r * q).mean()", "net(x).max(1).values"),
        ("q = torch.max(net(x), 1)\nt = r + q\nloss = t.mean()",
         "torch.max(net(x), 1).values"),
    ],
)  # fmt: skip
def test_the_values_of_the_pair_are_meant(tmp_path: Path, lines: str, fix: str) -> None:
    text = TRAINING.format(lines.replace("\n", "\n    "))
    (error,) = rehearsed(tmp_path, text).findings
    assert error.code == "tuple-as-tensor"
    assert "returns values and their indices" in error.message
    assert error.fixes[0].message == f"`{fix}`"
    assert error.fixes[0].checked


@pytest.mark.parametrize(
    "lines",
    [
        "loss = (r - gamma * net(x).max(1)[0]).mean()",
        "loss = (r * net(x).max(1).values).mean()",
        "q, _ = net(x).max(1)\nloss = (r + q).mean()",
        "loss = net(x).max() * r.mean()",
        "both = net(x).max(1) + (r,)\nloss = both[0].mean()",
    ],
)
def test_values_and_real_tuples_are_no_mistake(tmp_path: Path, lines: str) -> None:
    text = TRAINING.format(lines.replace("\n", "\n    "))
    assert not rehearsed(tmp_path, text).findings
