"""A traced function that trains: the user's optimizers and schedulers are untouched."""

from __future__ import annotations

import copy

import torch
from torch import nn

import shapewright as sw


def test_what_a_traced_step_changes_is_put_back() -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), 0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    before = copy.deepcopy(
        (model.state_dict(), optimizer.state_dict(), scheduler.state_dict())
    )

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    for _ in range(2):
        trace = sw.trace(step, "f32[8, 4]")
        assert trace.complete
    after = model.state_dict(), optimizer.state_dict(), scheduler.state_dict()
    assert before[1] == after[1]
    assert before[2] == after[2]
    assert all(torch.equal(before[0][name], after[0][name]) for name in after[0])
    assert all(each.grad is None for each in model.parameters())
