"""Steps of a scaler whose loss was not scaled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import nn

model = nn.Linear(4, 2)
other = nn.Linear(2, 1)
opt = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.1)
scaler = torch.amp.GradScaler("cpu")

def train():
    for step in range(3):
        opt.zero_grad()
        out = model(torch.rand(8, 4))
        loss = other(out).mean()
        {backward}
        {step}
        scaler.update()

{call}
"""


@pytest.mark.parametrize(
    ("backward", "step", "new"),
    [
        ("loss.backward()", "scaler.step(opt)", "scaler.scale(loss)"),
        ("(loss / 2).backward()", "scaler.step(opt)", "scaler.scale(loss / 2)"),
        ("other(out).sum().backward()", "scaler.unscale_(opt); scaler.step(opt)",
         "scaler.scale(other(out).sum())"),
        ("loss.backward(retain_graph=True); out.mean().backward()",
         "scaler.step(opt)", "scaler.scale(loss)"),
    ],
)  # fmt: skip
def test_a_scaler_steps_by_a_scaled_loss(
    backward: str, step: str, new: str, tmp_path: Path
) -> None:
    text = TRAINING.format(backward=backward, step=step, call="train()")
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert "no loss has gone through `scaler.scale`" in finding.message
    (fix,) = finding.fixes
    assert fix.message == f"`{new}.backward()`"
    assert len(fix.edits) == backward.count("backward(")
    assert fix.checked


def test_a_loss_that_is_scaled_later_has_no_edit(tmp_path: Path) -> None:
    text = TRAINING.format(
        backward="loss.backward()", step="scaler.step(opt)",
        call="train()\nscaler.scale(model(torch.rand(8, 4)).sum()).backward()",
    )  # fmt: skip
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert "no loss has gone through `scaler.scale`" in finding.message
    assert not finding.fixes


def test_a_scaled_loss_is_quiet(tmp_path: Path) -> None:
    text = TRAINING.format(
        backward="scaler.scale(loss).backward()", step="scaler.step(opt)",
        call="train()",
    )  # fmt: skip
    assert not rehearsed(tmp_path, text).findings
