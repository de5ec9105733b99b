"""Loaders that each step of a training begins anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import itertools
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6), torch.rand(64, 1))
loader = DataLoader(data, batch_size=8{shuffle})
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(x, y):
    loss = nn.functional.mse_loss(model(x), y)
    return loss


{loop}
"""
FIRST = """\
for step in range(20):
    x, y = next(iter(loader))
    train(x, y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SLICES = """\
for epoch in range(2):
    for step in range(len(loader) // 4):
        for x, y in itertools.islice(loader, 4):
            (train(x, y) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()
"""
CUT_SHORT = """\
for epoch in range(2):
    for x, y in itertools.islice(loader, 4):
        train(x, y).backward()
        optimizer.step()
        optimizer.zero_grad()
"""
ONE_BATCH = """\
x, y = next(iter(loader))
for step in range(20):
    train(x, y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
WATCHED = """\
for x, y in loader:
    train(x, y).backward()
    optimizer.step()
for step in range(4):
    x, y = next(iter(loader))
    print(model(x).shape)
"""
LOOKED_AT = """\
for epoch in range(3):
    for x, y in loader:
        train(x, y).backward()
        optimizer.step()
        optimizer.zero_grad()
    x, y = next(iter(loader))
    print(model(x).shape)
"""
WRONG = {
    "the first batch": (FIRST, "shuffle=True"),
    "a slice of each step": (SLICES, "shuffle=True"),
}
RIGHT = {
    "epochs that are cut short": CUT_SHORT,
    "one batch on purpose": ONE_BATCH,
    "nothing is trained": WATCHED,
    "a batch is looked at after each epoch": LOOKED_AT,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_loader_that_each_step_begins_is_told(name: str, tmp_path: Path) -> None:
    loop, fix = WRONG[name]
    text = SCRIPT.format(shuffle="", loop=loop)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "restarted-loader"
    assert any(fix in each.message for each in finding.fixes)
    assert not rehearsed(tmp_path, text.replace("=8)", "=8, shuffle=True)")).findings


@pytest.mark.parametrize("name", RIGHT)
def test_passes_that_are_meant_are_right(name: str, tmp_path: Path) -> None:
    text = SCRIPT.format(shuffle="", loop=RIGHT[name])
    codes = {finding.code for finding in rehearsed(tmp_path, text).findings}
    assert "restarted-loader" not in codes
