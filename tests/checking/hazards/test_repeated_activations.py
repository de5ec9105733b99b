"""Probabilities of which a sigmoid or a softmax is taken once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F


class Binary(nn.Module):
    def forward(self, p, t):
        INNER
        p, t = p.reshape(len(p), -1), t.reshape(len(t), -1)
        return 1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)


class Dice(nn.Module):
    def forward(self, output, target):
        inner = Binary()
        OUTER
        losses = [inner(output[:, i], target[:, i]).mean() for i in range(3)]
        return sum(losses) / 3


net = nn.Conv2d(1, 3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.randn(8, 1, 4, 4), torch.randint(3, (8, 4, 4))
    loss = Dice()(net(x), F.one_hot(y, 3).permute(0, 3, 1, 2).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SOFTMAX, SIGMOID = "output = F.softmax(output, dim=1)", "output = torch.sigmoid(output)"
WRONG = {
    "a sigmoid of a softmax": (SOFTMAX, "p = torch.sigmoid(p)"),
    "a method": (SOFTMAX, "p = p.contiguous().view(len(p), -1).sigmoid()"),
    "a layer": (SOFTMAX, "p = nn.Sigmoid()(p)"),
    "sigmoids": (SIGMOID, "p = p.flatten(1).sigmoid()"),
    "softmaxes": (
        SOFTMAX + "\n        output = output.flatten(2).softmax(1).view_as(output)",
        "pass",
    ),
}
RIGHT = {
    "once": (SOFTMAX, "pass"),
    "the inner one": ("pass", "p = torch.sigmoid(p)"),
    "logits of it": (SOFTMAX, "p = torch.sigmoid((p + 1e-6).log())"),
    "scaled": (SIGMOID, "p = torch.sigmoid(10 * (p - 0.5))"),
    "along another dim": (
        SOFTMAX + "\n        output = output.flatten(2).softmax(2).view_as(output)",
        "pass",
    ),
    "a softmax of gates": (SIGMOID + "\n        output = output.softmax(1)", "pass"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_second_activation_is_found(name: str, tmp_path: Path) -> None:
    outer, inner = WRONG[name]
    text = SCRIPT.replace("OUTER", outer).replace("INNER", inner)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "loss-input"
    assert "probabilities already" in finding.message
    assert finding.fixes


@pytest.mark.parametrize("name", RIGHT)
def test_a_single_activation_is_right(name: str, tmp_path: Path) -> None:
    outer, inner = RIGHT[name]
    text = SCRIPT.replace("OUTER", outer).replace("INNER", inner)
    codes = [found.code for found in rehearsed(tmp_path, text).findings]
    assert "loss-input" not in codes
