"""Losses that are numbers of Python when `backward()` is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.program.spans import apply_edits
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
batches = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(3)]
history, total = [], 0.0
"""
STEP = "    optimizer.zero_grad()\n    {}.backward()\n    optimizer.step()\n"

CASES = {
    "the loss itself": (
        "for x, y in batches:\n    loss = F.cross_entropy(net(x), y).item()\n"
        "    history.append(loss)\n" + STEP.format("loss"),
        "loss = F.cross_entropy(net(x), y)\n    history.append(loss.item())",
    ),
    "set to its number": (
        "for x, y in batches:\n    loss = F.cross_entropy(net(x), y)\n"
        "    loss = loss.item()\n" + STEP.format("loss"),
        "net(x), y)\n    optimizer",
    ),
    "a sum of numbers": (
        "for x, y in batches:\n    one = float(F.cross_entropy(net(x), y))\n"
        "    other = net(x).pow(2).mean().item()\n    loss = one + 0.1 * other\n"
        + STEP.format("loss"),
        "one = F.cross_entropy(net(x), y)\n    other = net(x).pow(2).mean()\n",
    ),
    "a list of numbers": (
        "for x, y in batches:\n    losses = []\n    for k in range(2):\n"
        "        losses.append(F.cross_entropy(net(x), y).detach().item())\n"
        "    loss = sum(losses) / len(losses)\n" + STEP.format("loss"),
        "losses.append(F.cross_entropy(net(x), y))",
    ),
    "in a method": (
        "class Trainer:\n    def measure(self, x, y):\n"
        "        loss = F.cross_entropy(net(x), y)\n"
        "        return loss.item(), net(x).argmax(1)\n\n"
        "    def step(self, x, y):\n        loss, chosen = self.measure(x, y)\n"
        "        loss.backward()\n\n"
        "for x, y in batches:\n    Trainer().step(x, y)\n    optimizer.step()\n",
        "return loss, net(x).argmax(1)",
    ),
    "the total of an epoch": (
        "for x, y in batches:\n    loss = F.cross_entropy(net(x), y)\n"
        "    total += loss.item()\n" + STEP.format("total"),
        "total += loss.item()\n    optimizer.zero_grad()\n    loss.backward()",
    ),
}


@pytest.mark.parametrize(("text", "new"), CASES.values(), ids=CASES)
def test_the_number_is_left_out(tmp_path: Path, text: str, new: str) -> None:
    findings = rehearsed(tmp_path, HEAD + text).findings
    finding = [each for each in findings if each.severity == "error"][-1]
    assert "has no graph to go back through" in finding.message
    (fix,) = finding.fixes
    assert fix.checked
    mended = apply_edits(HEAD + text, [(edit.span, edit.text) for edit in fix.edits])
    assert new in mended


@pytest.mark.parametrize(
    "text",
    [
        "for x, y in batches:\n    loss = F.cross_entropy(net(x), y)\n"
        "    total += loss.item()\n    history.append(float(loss))\n"
        + STEP.format("loss"),
        "for x, y in batches:\n"
        "    loss = sum(F.cross_entropy(net(x), y) for _ in range(2))\n"
        + STEP.format("loss"),
    ],
)
def test_numbers_for_a_log_stay(tmp_path: Path, text: str) -> None:
    assert [f for f in rehearsed(tmp_path, HEAD + text).findings
            if f.severity == "error"] == []  # fmt: skip
