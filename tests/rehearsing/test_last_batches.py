"""Calls that fail with the last, smaller batch of a loader alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn({items}, 6), torch.randn({items}))
net = nn.Linear(6, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=16)
state = torch.zeros(16, 8)
for x, y in loader:
    z = net(x)
    {line}
    loss = z.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LINES = ["z = z.view(16, 2, 4)", "z = z + state", "z = z.reshape(16, 4, 2)"]


def rehearse(folder: Path, items: int, line: str) -> Report:
    return rehearsed(folder, SCRIPT.format(items=items, line=line))


@pytest.mark.parametrize("line", LINES)
def test_the_samples_of_the_last_batch_are_told(line: str, tmp_path: Path) -> None:
    (finding,) = rehearse(tmp_path, 75, line).findings
    (place,) = [p for p in finding.related if "last batch" in p.message]
    words = "the last batch has 11 samples of 16: 75 is no multiple of 16"
    assert place.message == words
    assert place.span.line == 8


def test_no_batch_is_blamed_where_each_one_fails(tmp_path: Path) -> None:
    (finding,) = rehearse(tmp_path, 75, "z = z.view(15, 2, 4)").findings
    assert not any("last batch" in place.message for place in finding.related)


@pytest.mark.parametrize("line", LINES)
def test_batches_of_one_size_are_quiet(line: str, tmp_path: Path) -> None:
    assert not rehearse(tmp_path, 64, line).findings
