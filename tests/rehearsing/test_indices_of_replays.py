"""`q[:, actions]` where rows and actions come out of a replay memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import random
from collections import deque

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

memory = deque(maxlen=500)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
group = torch.tensor([0, 0, 1, 1, 2, 2, 0, 1, 2, 0, 1, 2, 0, 0, 1, 1])
for turn in range(40):
    row = ({state}, random.randrange(3), random.random())
    memory.append(row)
    if len(memory) < 16:
        continue
    s, a, r = zip(*random.sample(memory, 16))
    {batch}
    q = net(states)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LISTS = "states, actions, rewards = torch.stack(s), torch.tensor(a), torch.tensor(r)"
ARRAYS = (
    "states = torch.from_numpy(np.stack(s)).float();"
    " actions, rewards = torch.tensor(np.array(a)), torch.tensor(np.array(r)).float()"
)
WRONG = {
    "a difference": (LISTS, "loss = (q[:, actions] - rewards).pow(2).mean()"),
    "a loss": (LISTS, "loss = F.mse_loss(q[:, actions], rewards)"),
    "a column": (LISTS, "loss = F.smooth_l1_loss(q[:, actions], rewards.unsqueeze(1))"),
    "a product": (LISTS, "loss = -(q.log_softmax(1)[:, actions] * rewards).mean()"),
    "arrays": (ARRAYS, "loss = ((q[:, actions] - rewards) ** 2).mean()"),
}
RIGHT = {
    "gather":
        (LISTS, "loss = (q.gather(1, actions[:, None])[:, 0] - rewards).pow(2).mean()"),
    "pairs":
        (LISTS, "loss = (q[torch.arange(16), actions] - rewards).pow(2).mean()"),
    "one column": (LISTS, "loss = (q[:, a[0]] - rewards).pow(2).mean()"),
    "a table of groups":
        (LISTS, "loss = (q[:, group] * torch.ones(16)).mean()"),
    "the diagonal":
        (LISTS, "loss = (q[:, actions].diagonal() - rewards).pow(2).mean()"),
}  # fmt: skip


def _write(batch: str, loss: str) -> str:
    state = "np.random.randn(6)" if batch is ARRAYS else "torch.randn(6)"
    return SCRIPT.format(state=state, batch=batch, loss=loss)


@pytest.mark.parametrize("name", WRONG)
def test_columns_for_all_rows_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write(*WRONG[name]))
    (finding,) = [f for f in report.findings if f.code == "index-of-all-rows"]
    assert "16 rows" in finding.message
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_meant_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, _write(*RIGHT[name]))
    assert "index-of-all-rows" not in [f.code for f in report.findings]
