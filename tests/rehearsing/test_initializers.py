"""Initializers that refuse a parameter or an activation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1))

{initialized}

optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(torch.randn(4, 3)), torch.randn(4, 1)).backward()
    optimizer.step()
"""
NAMED = """\
for name, p in net.named_parameters():
    if "weight" in name{more}:
        nn.init.kaiming_normal_(p.data)
"""
ALL = """\
def start(model):
    for p in model.parameters():
        nn.init.xavier_uniform_(p)
start(net)
"""
ORTHOGONAL = """\
for weight in net.parameters():
    torch.nn.init.orthogonal_(weight)
"""
WITH_ELSE = """\
for name, p in net.named_parameters():
    if "weight" in name:
        nn.init.xavier_normal_(p)
    else:
        nn.init.zeros_(p)
"""
APPLIED = """\
def start(m):
    if isinstance(m, (nn.Linear, nn.LayerNorm)):
        nn.init.xavier_normal_(m.{part})
net.apply(start)
"""
SELECTED = """\
for p in net.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
"""
VECTORS = {
    "under a test": (NAMED.format(more=""), '`if "weight" in name and p.dim() > 1:`'),
    "under one of two tests": (
        NAMED.format(more=' or "w" in name'),
        '`if ("weight" in name or "w" in name) and p.dim() > 1:`',
    ),
    "all parameters": (ALL, "`if p.dim() > 1:`"),
    "orthogonal": (ORTHOGONAL, "`if weight.dim() > 1:`"),
    "biases otherwise": (WITH_ELSE, "`if p.dim() > 1:`"),
    "a bias": (APPLIED.format(part="bias"), "`nn.init.zeros_(m.bias)`"),
    "weights of norms": (
        APPLIED.format(part="weight"),
        "`if isinstance(m, (nn.Linear, nn.LayerNorm)) and m.weight.dim() > 1:`",
    ),
}
GAIN = "gain = nn.init.calculate_gain({})"
GAINS = {
    "a text": (GAIN.format('"gelu"'), '`"relu"`'),
    "a name": (
        'act = "silu"\n' + GAIN.format("act"), '`"relu" if act == "silu" else act`',
    ),
    "another spelling": (GAIN.format('"LeakyReLU"'), '`"leaky_relu"`'),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_only_matrices_have_a_fan_in(tmp_path: Path, name: str) -> None:
    initialized, fix = VECTORS[name]
    text = PROGRAM.format(initialized=initialized)
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "is for weights with two dims or more" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", GAINS)
def test_the_nearest_gain_is_taken(tmp_path: Path, name: str) -> None:
    initialized, fix = GAINS[name]
    text = PROGRAM.format(initialized=initialized)
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "torch has no gain for" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


def test_a_vector_of_its_own_gets_no_guess(tmp_path: Path) -> None:
    text = PROGRAM.format(initialized="nn.init.xavier_uniform_(net[1].weight)")
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "is for weights with two dims or more" in finding.message
    assert not finding.fixes


def test_matrices_alone_are_right(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, PROGRAM.format(initialized=SELECTED)).findings == ()
