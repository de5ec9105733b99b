"""The closure that `LBFGS` takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

model, criterion = nn.Linear(3, 1), nn.MSELoss()
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5)
data = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(2)]

def train(epochs):
    for epoch in range(epochs):
        for x, y in data:
{body}

train(2)
"""
PLAIN = """\
optimizer.zero_grad()
loss = criterion(model(x), y)
loss.backward()
optimizer.step()
print(loss.item())
"""
UNREAD = """\
optimizer.zero_grad()
out = model(x)
loss = criterion(out, y)
loss.backward()
optimizer.step()
"""
MOVED = """\
optimizer.zero_grad()
x, y = x.to("cpu"), y.to("cpu")
out = model(x)
loss = criterion(out, y)
loss.backward()
nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
"""
CLEARED_BELOW = """\
x = x.float()
out = model(x)
error = criterion(out, y)
error.backward()
optimizer.step()
optimizer.zero_grad()
"""
CHAINED = """\
optimizer.zero_grad()
criterion(model(x), y).backward()
optimizer.step()
"""
READ_BELOW = """\
optimizer.zero_grad()
out = model(x)
loss = criterion(out, y)
loss.backward()
optimizer.step()
print(out.mean())
"""
RIGHT = """\
def closure():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss
optimizer.step(closure)
"""
MISTAKES = {
    "plain": (PLAIN, "loss = optimizer.step(closure)"),
    "without the loss": (UNREAD, "            optimizer.step(closure)"),
    "data that is moved": (MOVED, "clip_grad_norm_(model.parameters(), 1.0)"),
    "gradients cleared below": (CLEARED_BELOW, "    return error"),
    "a loss without a name": (CHAINED, "loss = criterion(model(x), y)"),
}


def _write(body: str) -> str:
    rows = "\n".join(f"            {row}" for row in body.splitlines())
    return PROGRAM.format(body=rows)


@pytest.mark.parametrize("name", MISTAKES)
def test_what_computes_the_loss_becomes_a_closure(tmp_path: Path, name: str) -> None:
    body, row = MISTAKES[name]
    finding = rehearsed(tmp_path, _write(body)).findings[-1]
    assert "`LBFGS` computes the loss several times in a step" in finding.message
    assert row in finding.fixes[0].edits[0].text
    assert finding.fixes[0].checked


def test_values_that_are_read_below_stay_outside(tmp_path: Path) -> None:
    finding = rehearsed(tmp_path, _write(READ_BELOW)).findings[-1]
    assert "`LBFGS` computes" in finding.message
    assert not finding.fixes


def test_a_closure_is_right(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, _write(RIGHT)).findings == ()


OWN = """\
def evaluate():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss
{step}
"""
STEPS = {
    "called above": ("loss = evaluate()\noptimizer.step()", "loss = optimizer.step("),
    "its result is not read": ("evaluate()\noptimizer.step()", "optimizer.step("),
    "not called at all": ("optimizer.step()", "optimizer.step("),
    "called with others": (
        "print(float(evaluate()))\nloss = optimizer.step()", "optimizer.step(",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_function_that_is_such_a_closure_is_handed(tmp_path: Path, name: str) -> None:
    step, new = STEPS[name]
    finding = rehearsed(tmp_path, _write(OWN.format(step=step))).findings[-1]
    assert [fix.message for fix in finding.fixes] == [f"`{new}evaluate)`"]
    assert finding.fixes[0].checked
    assert any("`evaluate` is such" in place.message for place in finding.related)


def test_a_function_of_the_batch_is_no_closure(tmp_path: Path) -> None:
    body = OWN.format(step="loss = evaluate(x, y)\noptimizer.step()")
    body = body.replace("evaluate():", "evaluate(x, y):")
    finding = rehearsed(tmp_path, _write(body)).findings[-1]
    assert "`LBFGS` computes" in finding.message
    assert not any("evaluate)" in fix.message for fix in finding.fixes)
