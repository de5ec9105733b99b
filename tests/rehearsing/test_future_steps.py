"""Convolutions along time that read the step which is to be predicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

class {name}(nn.Module):
    def __init__(self, width, kernel=3, dilation=2):
        super().__init__()
        self.pad = dilation * (kernel - 1)
        {init}

    def forward(self, x):
        {forward}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 8, 1)
        self.block = {name}(8)
        self.last = nn.Conv1d(8, 1, 1)

    def forward(self, x):
        return self.last(torch.relu(self.block(self.first(x))))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    wave = torch.randn(4, 1, 33)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PLAIN = "self.conv = nn.Conv1d(width, width, kernel, dilation=dilation)"
PADDED = (
    "self.conv = nn.Conv1d("
    "width, width, kernel, padding=dilation * (kernel - 1) // 2, dilation=dilation)"
)
NEXT = "F.mse_loss(net(wave[:, :, :-1]), wave[:, :, 1:])"
SAME = "F.mse_loss(net(wave), torch.randn(4, 1, 33))"
HALVES = "return self.conv(F.pad(x, (self.pad // 2, self.pad // 2)))"
WRONG = {
    "the next step": ("Block", PLAIN, HALVES, NEXT, "(2 * (self.pad // 2), 0)"),
    "by its name": ("CausalConv", PLAIN, HALVES, SAME, "(2 * (self.pad // 2), 0)"),
    "padding of the layer": (
        "Block", PADDED, "return self.conv(x)", NEXT,
        "nn.Sequential(nn.ConstantPad1d((2 * (dilation * (kernel - 1) // 2), 0), 0.0),"
        " nn.Conv1d(width, width, kernel, dilation=dilation))",
    ),
    "in a row of layers": (
        "Block", "self.conv = nn.Sequential(nn.Conv1d(width, width, 3, padding=1))",
        "return self.conv(x)", NEXT,
        "nn.ConstantPad1d((2, 0), 0.0), nn.Conv1d(width, width, 3)",
    ),
    "a name of the layer": (
        "Block", "self.causal_conv = nn.Conv1d(width, width, 5, padding=2)",
        "return self.causal_conv(x)", SAME,
        "nn.Sequential(nn.ConstantPad1d((4, 0), 0.0), nn.Conv1d(width, width, 5))",
    ),
}  # fmt: skip
RIGHT = {
    "left alone": (
        "CausalConv",
        PLAIN,
        "return self.conv(F.pad(x, (self.pad, 0)))",
        NEXT,
    ),
    "cut behind": (
        "CausalConv",
        PADDED.replace(" // 2", ""),
        "return self.conv(x)[:, :, :-self.pad]",
        NEXT,
    ),
    "centred, and meant so": ("Block", PADDED, "return self.conv(x)", SAME),
    "not causal": ("NonCausalConv", PADDED, "return self.conv(x)", SAME),
    "one place": (
        "CausalConv",
        "self.conv = nn.Conv1d(width, width, 1)",
        "return self.conv(x)",
        NEXT,
    ),
    "no padding": (
        "CausalConv",
        PLAIN,
        "return self.conv(x)",
        "F.mse_loss(net(wave[:, :, :-1]), wave[:, :, 5:])",
    ),
    "a copy of the input": (
        "Block",
        PADDED,
        "return self.conv(x)",
        "F.mse_loss(net(wave + torch.randn(4, 1, 33)), wave)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_padding_on_both_sides_is_told(name: str, tmp_path: Path) -> None:
    block, init, forward, loss, edit = WRONG[name]
    text = SCRIPT.format(name=block, init=init, forward=forward, loss=loss)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "unshifted-target"
    assert [fix.message for fix in finding.fixes if fix.checked] == [f"`{edit}`"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_sees_no_later_step_is_quiet(name: str, tmp_path: Path) -> None:
    block, init, forward, loss = RIGHT[name]
    text = SCRIPT.format(name=block, init=init, forward=forward, loss=loss)
    codes = [f.code for f in rehearsed(tmp_path, text).findings]
    assert "unshifted-target" not in codes
