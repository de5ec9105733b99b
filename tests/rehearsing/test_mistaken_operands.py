"""What stands in the place of parameters, predictions and actions: each with its cause,
and with the edit that an answer gives.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
"""
CASES = {
    "a module for its parameters": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 2)

net = Net()
optimizer = torch.optim.Adam(net, lr=0.1)
net.fc(torch.randn(3, 6)).sum().backward()
optimizer.step()
""",
        "`net` is a module, and an optimizer takes its parameters",
        "`net.parameters()`",
    ),
    "a container for its parameters": (
        """
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(net)
net(torch.randn(3, 6)).sum().backward()
optimizer.step()
""",
        "`net` is a module, and an optimizer takes its parameters",
        "`net.parameters()`",
    ),
    "modules for their parameters": (
        """
first, second = nn.Linear(6, 8), nn.Linear(8, 2)
optimizer = torch.optim.SGD([first, second], lr=0.1)
second(first(torch.randn(3, 6))).sum().backward()
optimizer.step()
""",
        "`[first, second]` holds modules, and an optimizer takes their parameters",
        "`[*first.parameters(), *second.parameters()]`",
    ),
    "random numbers for what a model computes": (
        """
logits = torch.randn(4, 2)
F.cross_entropy(logits, torch.tensor([0, 1, 1, 0])).backward()
""",
        "draws numbers that require no gradient",
        "`torch.randn(4, 2, requires_grad=True)`",
    ),
    "class indices that are mixed": (
        """
labels = torch.randint(4, (8,))
mixed = 0.3 * labels + 0.7 * labels[torch.randperm(8)]
net = nn.Linear(6, 4)
F.cross_entropy(net(torch.randn(8, 6)), mixed).backward()
""",
        "expects class indices",
        "`F.one_hot(labels, 4).float()`",
    ),
    "an action that lacks a dim": (
        """
net = nn.Linear(6, 2)
def act(x, greedy):
    if greedy:
        return net(x).max(1)[1].view(1, 1)
    return torch.tensor([1])

taken = torch.cat([act(torch.randn(1, 6), i % 2) for i in range(8)])
net(torch.randn(8, 6)).gather(1, taken).sum().backward()
""",
        "joins tensors with as many dims",
        "`torch.tensor([1]).unsqueeze(0)`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_first_fix(name: str, tmp_path: Path) -> None:
    text, words, fix = CASES[name]
    report = rehearsed(tmp_path, HEAD + text)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert words in errors[0].message
    assert errors[0].fixes[0].message == fix
