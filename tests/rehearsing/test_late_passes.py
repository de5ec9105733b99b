"""Backward passes behind the loop over batches whose loss they train."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 6), torch.randint(3, (40,)))
loader = DataLoader(data, batch_size=8, shuffle=True)
model, criterion = nn.Linear(6, 3), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
for epoch in range(3):
    total, losses = 0.0, []
BODY"""
WRONG = {
    "indented too little": (
        """\
for a, b in loader:
    optimizer.zero_grad()
    a = a.float()
    loss = criterion(model(a), b)
    total += loss.item()
loss.backward()
optimizer.step()
scheduler.step()
""",
        "`loss.backward()` and 1 more inside the loop",
    ),
    "all of the update": (
        """\
for a, b in loader:
    loss = criterion(model(a), b)
    print(f"loss {loss:.3f}")
    losses.append(loss.detach())
optimizer.zero_grad()
loss.backward()
nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
scheduler.step()
""",
        "`loss.backward()` and 3 more inside the loop",
    ),
    "rows of a permutation": (
        """\
for rows in torch.randperm(40).split(8):
    optimizer.zero_grad()
    loss = criterion(model(data.tensors[0][rows]), data.tensors[1][rows])
    total = total + loss.item()
loss.backward()
optimizer.step()
scheduler.step()
""",
        "`loss.backward()` and 1 more inside the loop",
    ),
}
RIGHT = {
    "inside": """\
for a, b in loader:
    optimizer.zero_grad()
    loss = criterion(model(a), b)
    loss.backward()
    optimizer.step()
scheduler.step()
""",
    "added up": """\
for a, b in loader:
    loss = criterion(model(a), b)
    total = total + loss / len(loader)
optimizer.zero_grad()
total.backward()
optimizer.step()
scheduler.step()
""",
    "in a list": """\
for a, b in loader:
    loss = criterion(model(a), b)
    losses.append(loss)
loss = torch.stack(losses).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
scheduler.step()
""",
    "whole data": """\
a, b = data.tensors
optimizer.zero_grad()
loss = criterion(model(a), b)
loss.backward()
optimizer.step()
scheduler.step()
for a, b in loader:
    with torch.no_grad():
        total += criterion(model(a), b).item()
""",
    "a state of all parts": """\
state = torch.zeros(8, 6)
for a, b in loader:
    state = 0.9 * state + a
    loss = criterion(model(state), b)
optimizer.zero_grad()
loss.backward()
optimizer.step()
scheduler.step()
""",
    "one batch": """\
for a, b in loader:
    loss = criterion(model(a), b)
    if loss.item() > 0.5:
        break
optimizer.zero_grad()
loss.backward()
optimizer.step()
scheduler.step()
""",
}


def write(body: str) -> str:
    """Return the script with the body of its loop over epochs."""
    return SCRIPT.replace("BODY", "".join(f"    {row}\n" for row in body.splitlines()))


@pytest.mark.parametrize("name", WRONG)
def test_an_update_behind_the_loop_over_batches(name: str, tmp_path: Path) -> None:
    body, message = WRONG[name]
    (finding,) = rehearsed(tmp_path, write(body)).findings
    assert finding.code == "loss-overwritten"
    assert finding.span is not None
    line = write(body).splitlines()[finding.span.line - 1]
    assert line.strip() == "loss.backward()"
    assert [fix.message for fix in finding.fixes] == [message]


@pytest.mark.parametrize("name", RIGHT)
def test_an_update_of_all_batches(name: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, write(RIGHT[name])).findings
    assert "loss-overwritten" not in [finding.code for finding in findings]
