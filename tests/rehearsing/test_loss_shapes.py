"""Losses of two shapes: which torch warns of, and the edit that makes them equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
STEP = """
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("output, target = net(torch.randn(1, 4)), torch.arange(10.0)\n"
         "loss = nn.MSELoss()(output, target)", "`target.view_as(output)`"),
        ("value, wanted = net(torch.randn(4))[3], torch.tensor([0.5])\n"
         "loss = F.smooth_l1_loss(value, wanted)", "`wanted.view_as(value)`"),
        ("loss = F.l1_loss(net(torch.randn(1, 4)), torch.ones(10))",
         "`net(torch.randn(1, 4)).squeeze(0)`"),
    ],
)  # fmt: skip
def test_equal_elements_in_two_shapes(tmp_path: Path, text: str, fix: str) -> None:
    (only,) = rehearsed(tmp_path, HEAD + text + STEP).findings
    assert (only.code, only.severity) == ("loss-shapes", "warning")
    assert only.fixes[0].message == fix


@pytest.mark.parametrize(
    "text",
    [
        "loss = F.mse_loss(net(torch.randn(1, 4)), torch.ones(1, 10))",
        "loss = F.mse_loss(net(torch.randn(4))[3], torch.tensor(0.5))",
        "loss = ((net(torch.randn(1, 4)) - torch.ones(10)) ** 2).mean()",
    ],
)
def test_legal(tmp_path: Path, text: str) -> None:
    assert not rehearsed(tmp_path, HEAD + text + STEP).findings


def test_one_target_for_several_outputs_is_mended_where_they_are_made(
    tmp_path: Path,
) -> None:
    text = "loss = F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1))"
    (only,) = rehearsed(tmp_path, HEAD + text + STEP).findings
    assert only.fixes[0].message == "`nn.Linear(4, 1)`"


def test_a_softmax_without_dim_runs_over_the_last(tmp_path: Path) -> None:
    text = """
softmax = nn.Softmax()
q = net(torch.randn(6, 7, 4))
loss = (softmax(q @ q.transpose(1, 2)) @ q).square().mean()
"""
    found = rehearsed(tmp_path, HEAD + text + STEP).findings
    fixes = [fix.message for finding in found for fix in finding.fixes]
    assert fixes[:1] == ["`nn.Softmax(dim=-1)`"]
