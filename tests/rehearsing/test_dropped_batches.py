"""Loops over loaders without batches, as `drop_last=True` leaves out the only one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(20, 4), torch.randint(0, 2, (20,)))
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(data, batch_size={size}, shuffle=True, drop_last={drop})


def train(loader):
    total, count = 0.0, 0
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        count += 1
    {end}


train(loader)
{more}
"""
BODY = """\
for x, y in loader:
    last = net(x).sum()
    last.backward()
print(last.item())
"""
MISTAKES = {
    "a loss that is returned": ("return loss.item()", "", "`loss` is set in the loop"),
    "a loss that is shown": ("print(f'{loss:.3f}')", "", "`loss` is set in the loop"),
    "a mean over batches": ("return total / len(loader)", "", "`len(loader)` is 0"),
    "a mean over a count": ("return total / count", "", "`count` counts in the loop"),
    "a loop of the script": ("pass", BODY, "`last` is set in the loop"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_only_batch_is_kept(name: str, tmp_path: Path) -> None:
    end, more, message = MISTAKES[name]
    text = SCRIPT.format(size=32, drop=True, end=end, more=more)
    finding = next(
        f for f in rehearsed(tmp_path, text).findings if f.severity == "error"
    )
    assert finding.message.startswith(message)
    assert [fix.message for fix in finding.fixes if fix.checked] == [
        "`drop_last=False`"
    ]


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize(("size", "drop"), [(8, True), (32, False)])
def test_loaders_with_batches_are_left(
    name: str, size: int, drop: bool, tmp_path: Path
) -> None:
    end, more, _ = MISTAKES[name]
    text = SCRIPT.format(size=size, drop=drop, end=end, more=more)
    findings = rehearsed(tmp_path, text).findings
    assert not [f for f in findings if f.severity == "error"]


def test_a_name_that_the_loop_does_not_always_set_is_another_error(
    tmp_path: Path,
) -> None:
    more = "for x, y in loader:\n    if x.ndim > 7:\n        kept = x\nprint(kept)\n"
    text = SCRIPT.format(size=8, drop=True, end="pass", more=more)
    findings = rehearsed(tmp_path, text).findings
    assert not any("drop_last" in f.message for f in findings)


PREDICTIONS = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

rows, net = torch.randn(50, 4), nn.Linear(4, 1)
train_loader = DataLoader(rows, batch_size=16, shuffle=True, drop_last=True)
test_loader = DataLoader(rows, batch_size=16, drop_last={drop})
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []
for x in train_loader:
    loss = net(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
{predictions}


class Table:
    def __init__(self, columns):
        if len({{len(column) for column in columns.values()}}) > 1:
            raise ValueError("All arrays must be of the same length")


Table({{"id": np.arange(50), "score": np.concatenate(scores)}})
"""
LOOP = """\
scores = []
with torch.no_grad():
    for x in test_loader:
        scores.append(net(x).squeeze(1).numpy())
"""
FUNCTION = """\
@torch.no_grad()
def predict(model, loader):
    scores = []
    for x in loader:
        scores.append(model(x).squeeze(1).numpy())
    return scores

scores = predict(net, test_loader)
"""


@pytest.mark.parametrize("predictions", [LOOP, FUNCTION])
def test_predictions_of_all_rows_need_the_last_batch(
    predictions: str, tmp_path: Path
) -> None:
    text = PREDICTIONS.format(drop=True, predictions=predictions)
    (found,) = rehearsed(tmp_path, text).findings
    assert found.message.startswith("`test_loader` leaves out its last batch")
    assert [fix.message for fix in found.fixes] == ["`drop_last=False`"]
    assert found.fixes[0].checked


@pytest.mark.parametrize("predictions", [LOOP, FUNCTION])
def test_predictions_with_the_last_batch_are_as_many(
    predictions: str, tmp_path: Path
) -> None:
    text = PREDICTIONS.format(drop=False, predictions=predictions)
    assert not rehearsed(tmp_path, text).findings
