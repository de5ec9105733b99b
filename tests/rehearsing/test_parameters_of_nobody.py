"""Parameters in no optimizer, beside optimizers of frozen ones and of one number; flags
that freeze nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


def make_backbone():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = make_backbone(), nn.Linear(8, 9)

    def forward(self, x):
        return self.fc(self.body(x))


model = Net()
{optimizers}
for step in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(6, 4)), torch.arange(6) % 3)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FROZEN = "model.requires_grad_(False)"
HEAD = "model.fc = nn.Linear(8, 3)"
OF_HEAD = "optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)"
OF_ALPHA = (
    "alpha = torch.zeros((), requires_grad=True)",
    "optimizer = torch.optim.SGD([alpha], lr=0.1)",
)
SCALED = "loss = loss * alpha.exp() + alpha"


def write(*lines: str, loss: str = "") -> str:
    """The script with its optimizers."""
    text = SCRIPT.replace("{optimizers}", "\n".join(lines))
    return text.replace("    {loss}\n", f"    {loss}\n" if loss else "")


def test_a_head_behind_the_optimizer_of_a_frozen_one_is_found(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, write(FROZEN, OF_HEAD, HEAD)).findings
    assert [finding.code for finding in findings] == ["not-in-optimizer"]


def test_a_head_before_its_optimizer_is_quiet(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, write(FROZEN, HEAD, OF_HEAD)).findings == ()


def test_a_model_beside_the_optimizer_of_a_number_is_found(tmp_path: Path) -> None:
    other = "other = torch.optim.SGD(make_backbone().parameters(), lr=0.1)"
    lines = (*OF_ALPHA, other)
    text = write(*lines, loss=SCALED).replace(
        "optimizer.step()", "optimizer.step()\n    other.step()"
    )
    codes = {finding.code for finding in rehearsed(tmp_path, text).findings}
    assert "not-in-optimizer" in codes


def test_the_optimizer_of_a_number_alone_is_quiet(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, write(*OF_ALPHA, loss=SCALED)).findings == ()


@pytest.mark.parametrize(
    "flag",
    [
        "body = make_backbone()\nbody.requires_grad = False",
        "for p in model.body.parameters():\n    p.required_grad = False",
    ],
)
def test_a_flag_that_freezes_nothing_is_found(flag: str, tmp_path: Path) -> None:
    optimizer = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
    findings = rehearsed(tmp_path, write(flag, optimizer)).findings
    assert [finding.code for finding in findings] == ["flag-without-effect"]
    assert findings[0].fixes[0].checked


def test_a_flag_of_a_tensor_of_a_function_is_quiet(tmp_path: Path) -> None:
    text = "def make():\n    return torch.zeros(3)\n\n\nbias = make()\n"
    text += "bias.requires_grad = True\n"
    optimizer = "optimizer = torch.optim.SGD([*model.parameters(), bias], lr=0.1)"
    loss = "loss = loss + (bias**2).sum()"
    assert rehearsed(tmp_path, write(text, optimizer, loss=loss)).findings == ()
