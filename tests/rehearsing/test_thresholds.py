"""Thresholds of probabilities, where the fix is a model that returns logits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return torch.sigmoid(self.head(torch.relu(self.body(x))))


net = Net()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def evaluate():
    net.eval()
    x, y = torch.randn(9, 6), torch.randint(2, (9, 3)).float()
    with torch.no_grad():
{evaluation}
    net.train()


for epoch in range(2):
    x, y = torch.randn(8, 6), torch.randint(2, (8, 3)).float()
    outputs = net(x)
    loss = criterion(outputs, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
{training}
    evaluate()
"""
CASES = {
    "in evaluation": (
        "        probs = net(x)\n        print(((probs > 0.5) == y).float().mean())",
        "", ["torch.sigmoid(net(x))"],
    ),
    "behind NumPy": (
        "        probs = torch.cat([net(x), net(x)]).cpu().numpy()\n"
        "        print((probs >= 0.3).sum())",
        "", ["torch.sigmoid(net(x))", "torch.sigmoid(net(x))"],
    ),
    "rounded": (
        "        print((net(x).round() == y).sum())", "", ["torch.sigmoid(net(x))"],
    ),
    "in training": (
        "        print(net(x).shape)",
        "    print((outputs > 0.5).float().mean())", ["torch.sigmoid(outputs)"],
    ),
    "nowhere": ("        print(net(x).argmax(1))", "", []),
    "of another tensor": (
        "        net(x)\n        print((torch.rand(9, 3) > 0.5).sum())", "", [],
    ),
    "of a sigmoid already": (
        "        print((torch.sigmoid(net(x)) > 0.5).sum())", "", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_thresholds_stay_those_of_probabilities(name: str, tmp_path: Path) -> None:
    evaluation, training, new = CASES[name]
    text = PROGRAM.format(evaluation=evaluation, training=training)
    warnings = rehearsed(tmp_path, text).findings
    (found,) = [each for each in warnings if each.code == "loss-input"]
    first = found.fixes[0]
    assert first.checked
    assert [edit.text for edit in first.edits if "sigmoid" in edit.text] == new
    assert "`self.head(torch.relu(self.body(x)))`" in first.message
