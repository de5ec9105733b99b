"""Dropout that a classifier switches on by a literal `True`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), LAYER, nn.ReLU())
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(CALL)


x, y = torch.randn(48, 6), torch.randint(3, (48,))
loader = DataLoader(TensorDataset(x, y), 16)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    net.train()
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(a), b).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for a, b in loader:
            SCORE
"""
SCORE = "print((net(a).argmax(1) == b).float().mean().item())"
KEYWORD = "F.dropout(self.body(x), 0.3, training=True)"
WRONG = {
    "beside dropout": ("nn.Dropout(0.1)", KEYWORD, SCORE),
    "beside a batch norm": ("nn.BatchNorm1d(8)", KEYWORD, SCORE),
    "by its place": ("nn.Dropout(0.1)", "F.dropout(self.body(x), 0.3, True)", SCORE),
    "a loss": ("nn.Dropout(0.1)", KEYWORD, "print(F.cross_entropy(net(a), b).item())"),
    "classes of probabilities": (
        "nn.Dropout(0.1)", KEYWORD,
        "print((b == net(a).softmax(1).max(1)[1]).sum().item())",
    ),
}  # fmt: skip
RIGHT = {
    "the module's mode": (
        "nn.Dropout(0.1)", "F.dropout(self.body(x), 0.3, training=self.training)", SCORE
    ),
    "nothing else has a mode": ("nn.LayerNorm(8)", KEYWORD, SCORE),
    "several draws": (
        "nn.Dropout(0.1)", KEYWORD,
        "p = sum(net(a) for _ in range(3)); print((p.argmax(1) == b).sum().item())",
    ),
    "several draws, stacked": (
        "nn.Dropout(0.1)", KEYWORD,
        "p = torch.stack([net(a) for _ in range(3)]).mean(0);"
        " print((p.argmax(1) == b).sum().item())",
    ),
    "what is meant is written": (
        "nn.Dropout(0.1)", KEYWORD, SCORE + "  # with MC dropout"
    ),
    "no labels": ("nn.Dropout(0.1)", KEYWORD, "print(net(a).argmax(1).tolist())"),
}  # fmt: skip


def find(folder: Path, case: tuple[str, str, str]) -> list[str]:
    """Code and checked edit of each finding."""
    text = PROGRAM
    for word, new in zip(("LAYER", "CALL", "SCORE"), case, strict=True):
        text = text.replace(word, new)
    report = rehearsed(folder, text)
    return [f"{f.code}: {f.fixes[0].message}" for f in report.findings if f.fixes]


@pytest.mark.parametrize("name", WRONG)
def test_dropout_that_is_on_in_one_pass(name: str, tmp_path: Path) -> None:
    assert find(tmp_path, WRONG[name]) == [
        "dropout-always-on: `self.training` as its mode"
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_dropout_that_may_be_meant(name: str, tmp_path: Path) -> None:
    assert find(tmp_path, RIGHT[name]) == []
