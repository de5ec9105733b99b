"""A batch norm in training whose loader is asked for batches of one sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

{start}
data = TensorDataset(torch.randn(8, 4), torch.arange(8) % 3)
loader = DataLoader(data, {size})
test_loader = DataLoader(data, batch_size=1)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    for x, y in test_loader:
        print(net(x).argmax(1))
"""
OPTION = """\
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=1)
args = parser.parse_args([])
"""


@pytest.mark.parametrize(
    ("start", "size", "name", "line"),
    [
        (OPTION, "batch_size=args.batch_size", "batch_size", 7),
        ("SIZE = 1", "SIZE, shuffle=True", "SIZE", 6),
        ("", "batch_size=1", "batch_size", 8),
    ],
)
def test_the_size_of_the_batches_is_the_cause(
    tmp_path: Path, start: str, size: str, name: str, line: int
) -> None:
    (error,) = rehearsed(tmp_path, PROGRAM.format(start=start, size=size)).findings
    assert error.code == "one-value-per-channel"
    places = {place.message: place.span.line for place in error.related}
    assert places[f"`{name}` is 1: each batch is one sample"] == line
    assert error.fixes[0].message == f"`{name}=2`"
    assert error.fixes[0].checked


def test_a_last_batch_of_one_is_not_blamed_on_another_loader(tmp_path: Path) -> None:
    text = PROGRAM.format(start="", size="batch_size=7")
    for finding in rehearsed(tmp_path, text).findings:
        assert not any("each batch is one" in p.message for p in finding.related)


def test_larger_batches_are_no_mistake(tmp_path: Path) -> None:
    text = PROGRAM.format(start="", size="batch_size=4")
    assert not rehearsed(tmp_path, text).findings
