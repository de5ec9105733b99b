"""Scalers of losses, in the order in which a program asks them: as torch's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn

model = nn.Linear(4, 3){kind}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler({device!r}, init_scale=1.0)
loss = model(torch.rand(5, 4){kind}).sum()
"""

SCALED = "scaler.scale(loss).backward()"
UNSCALE = "scaler.unscale_(optimizer)"
STEP = "scaler.step(optimizer)"
UPDATE = "scaler.update()"

ORDERS = {
    "plain": [SCALED, STEP, UPDATE],
    "clipped": [SCALED, UNSCALE, STEP, UPDATE],
    "twice": [SCALED, UNSCALE, UNSCALE],
    "late": [SCALED, STEP, UNSCALE],
    "two-steps": [SCALED, STEP, STEP],
    "two-turns": [SCALED, STEP, UPDATE, UNSCALE, STEP, UPDATE],
    "not-scaled": ["loss.backward()", STEP],
    "not-scaled-update": ["loss.backward()", "optimizer.step()", UPDATE],
    "own-step": [SCALED, "optimizer.step()", UPDATE],
    "no-gradients": ["scaler.scale(loss)", STEP],
    "skipped": [SCALED, UNSCALE, UPDATE],
}


def said(text: str) -> str:
    """What torch itself raises."""
    try:
        exec(text, {"nn": nn, "torch": torch})
    except Exception as error:
        return f"`{type(error).__name__}`: {error}"
    return ""


@pytest.mark.parametrize("kind", ["", ".bfloat16()", ".half()"])
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_refused_as_torch_refuses_it(
    tmp_path: Path, order: str, kind: str
) -> None:
    text = HEAD.format(device="cpu", kind=kind) + "\n".join(ORDERS[order]) + "\n"
    findings = rehearsed(tmp_path, text).findings
    real = said(text)
    assert len(findings) == bool(real)
    for each in findings:
        raised = f"{each.message} {each.torch_message}"
        assert real.replace("`", "") in raised.replace("`", "")


def test_a_scaler_of_a_device_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    text = HEAD.format(device="cuda", kind="") + "\n".join(ORDERS["twice"]) + "\n"
    assert rehearsed(tmp_path, text).findings == ()
    (found,) = rehearsed(tmp_path, text, device="cuda").findings
    assert "has already been called" in f"{found.message} {found.torch_message}"
