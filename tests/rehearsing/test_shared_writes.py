"""A write to a view changes what other views of the same tensor show."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import nn

net, other = nn.Linear(4, 4), nn.Linear(8, 8)
optimizer = torch.optim.Adam([*net.parameters(), *other.parameters()])
for step in range(3):
    x = other(torch.randn(16, 8))
    {}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def rehearse_lines(folder: Path, lines: str) -> Report:
    """Rehearse a training with those lines between its batch and its loss."""
    return rehearsed(folder, TRAINING.format(lines.replace("\n", "\n    ")))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            "a, b = x[:, :4], x[:, 4:]\nh = net(a)\nb += h\nb *= 2\nloss = h.sum()",
            "writes to `b`, a view of `x`, of which `a`, which the backward pass of"
            " `F.linear` needs unchanged, is a view too",
        ),
        (
            "a = x[:, :4]\nh = net(a)\nx.mul_(2)\nloss = h.sum()",
            "writes to `x`, of which `a`, which the backward pass of `F.linear` needs"
            " unchanged, is a view",
        ),
        (
            "h = other(x)\nb = x[:, :1]\nb.add_(1)\nloss = h.sum()",
            "writes to `b`, a view of `x`, which the backward pass of `F.linear` needs"
            " unchanged",
        ),
    ],
)
def test_the_view_that_is_written_is_named(
    tmp_path: Path, lines: str, words: str
) -> None:
    (error,) = rehearse_lines(tmp_path, lines).findings
    assert words in error.message
    assert error.fixes


def test_all_writes_are_named(tmp_path: Path) -> None:
    lines = "a, b = x[:, :4], x[:, 4:]\nh = net(a)\nb += h\nb *= 2\nloss = h.sum()"
    (error,) = rehearse_lines(tmp_path, lines).findings
    places = [place.message for place in error.related]
    assert places.count("`b` is written here") == 2


@pytest.mark.parametrize(
    "lines",
    [
        "a, b = x[:, :4], x[:, 4:]\nh = net(a)\nb = b + h\nloss = h.sum() + b.sum()",
        "a, b = x[:, :4], x[:, 4:].clone()\nh = net(a)\nb += h\nloss = b.sum()",
    ],
)
def test_writes_to_copies_are_no_mistake(tmp_path: Path, lines: str) -> None:
    assert not rehearse_lines(tmp_path, lines).findings
