"""Parameters that are moved to a device behind `nn.Parameter(...)`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

device = DEVICE


class Net(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.device = device
        self.fc = nn.Linear(4, 3)
        self.scale = SCALE

    def forward(self, x):
        return self.fc(x) * self.scale


net = Net(device).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(8, 4, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CHOSEN = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
WRONG = {
    "a chosen device": (
        CHOSEN,
        "nn.Parameter(torch.ones(3) * 0.1).to(device)",
        "nn.Parameter((torch.ones(3) * 0.1).to(device))",
    ),
    "a text": (
        '"cuda:0" if torch.cuda.is_available() else "cpu"',
        "nn.Parameter(torch.ones(3)).to(self.device)",
        "nn.Parameter(torch.ones(3).to(self.device))",
    ),
    "a keyword": (
        CHOSEN,
        "nn.Parameter(torch.ones(3), requires_grad=True).to(device=device)",
        "nn.Parameter(torch.ones(3).to(device=device), requires_grad=True)",
    ),
    "another gpu": (
        '"mps" if torch.backends.mps.is_available() else "cpu"',
        "torch.nn.Parameter(torch.ones(3)).to(device)",
        "torch.nn.Parameter(torch.ones(3).to(device))",
    ),
}
RIGHT = {
    "inside": (CHOSEN, "nn.Parameter(torch.ones(3).to(device))"),
    "made there": (CHOSEN, "nn.Parameter(torch.ones(3, device=device)).to(device)"),
    "moved before": (CHOSEN, "nn.Parameter(torch.ones(3).to(device)).to(device)"),
    "the cpu": ('torch.device("cpu")', "nn.Parameter(torch.ones(3)).to(device)"),
    "of its dtype": (CHOSEN, "nn.Parameter(torch.ones(3)).to(torch.float32)"),
    "the cast of it": (CHOSEN, "nn.Parameter(torch.ones(3)).float()"),
    "data": (CHOSEN, "torch.ones(3).to(device)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_move_behind_the_parameter_is_found(name: str, tmp_path: Path) -> None:
    device, scale, fix = WRONG[name]
    text = SCRIPT.replace("DEVICE", device).replace("SCALE", scale)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "not-a-parameter"
    assert "on a GPU `self.scale` is a plain tensor" in finding.message
    assert finding.fixes[0].message.startswith(f"`{fix}`")


@pytest.mark.parametrize("name", RIGHT)
def test_a_parameter_that_stays_one_is_right(name: str, tmp_path: Path) -> None:
    device, scale = RIGHT[name]
    text = SCRIPT.replace("DEVICE", device).replace("SCALE", scale)
    assert rehearsed(tmp_path, text).findings == ()


def test_a_cast_goes_inside(tmp_path: Path) -> None:
    text = SCRIPT.replace("DEVICE", '"cpu"')
    text = text.replace("SCALE", "nn.Parameter(torch.ones(3)).double()")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == "`nn.Parameter(torch.ones(3).double())`"
