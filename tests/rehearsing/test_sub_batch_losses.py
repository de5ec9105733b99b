"""Mean losses of the parts of a batch, whose gradients a step adds up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(96, 6), torch.randint(3, (96,)))
loader = DataLoader(data, 24, shuffle=True)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss({reduction})
SIZE, RATE = 8, 0.1
optimizer = torch.optim.{optimizer}
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        {loop}
            {parts}
            loss = {loss}
            {backward}
        {step}
"""
PLAIN = {
    "reduction": "", "optimizer": "SGD(model.parameters(), lr=RATE)",
    "loop": "for i in range(0, len(x), SIZE):",
    "parts": "part, labels = x[i:i + SIZE], y[i:i + SIZE]",
    "loss": "criterion(model(part), labels)", "backward": "loss.backward()",
    "step": "optimizer.step()",
}  # fmt: skip
SHARE = "`(loss * len(part) / len(x))`"
WRONG = {
    "a mean": ({}, SHARE),
    "a last part with fewer samples": ({
        "loop": "for i in range(0, x.size(0), 10):",
        "parts": "part, labels = x[i:i + 10], y[i:i + 10]",
    }, SHARE),
    "parts of a split": ({
        "loop": "for part, labels in zip(x.split(SIZE), y.split(SIZE)):",
        "parts": "pass",
    }, SHARE),
    "parts that are not named": ({
        "parts": "pass",
        "loss": "criterion(model(x[i:i + SIZE]), y[i:i + SIZE])",
    }, "`(loss * len(x[i:i + SIZE]) / len(x))`"),
    "a sum over the samples of the part": ({
        "reduction": "reduction='sum'",
        "loss": "criterion(model(part), labels) / len(part)",
    }, "divided by the samples of `x`, not of `part`"),
    "a sum over a number of samples that has a name": ({
        "reduction": "reduction='sum'",
        "parts": "part, labels = x[i:i + SIZE], y[i:i + SIZE]; n = part.shape[0]",
        "loss": "criterion(model(part), labels) / n",
    }, "divided by the samples of `x`, not of `part`"),
    "a penalty beside the mean": ({
        "loss": "criterion(model(part), labels) + 0.01 * model[0].weight.pow(2).sum()",
    }, SHARE),
}  # fmt: skip
RIGHT = {
    "a share": {"backward": "(loss * len(part) / len(x)).backward()"},
    "a share that is a number": {"loss": "criterion(model(part), labels) * (8 / 24)"},
    "divided by the number of parts": {"loss": "criterion(model(part), labels) / 3"},
    "a sum over the whole batch": {
        "reduction": "reduction='sum'",
        "loss": "criterion(model(part), labels) / len(x)",
    },
    "a sum": {"reduction": "reduction='sum'"},
    "a step with each part": {
        "backward": "loss.backward(); optimizer.step(); optimizer.zero_grad()",
        "step": "print(loss.item())",
    },
    "Adam": {"optimizer": "Adam(model.parameters(), lr=RATE)"},
    "clipped": {
        "step": "nn.utils.clip_grad_norm_(model.parameters(), 1.0); optimizer.step()"
    },
    "gradients divided": {
        "step": "[p.grad.div_(3) for p in model.parameters()]; optimizer.step()"
    },
    "a smaller rate": {"optimizer": "SGD(model.parameters(), lr=RATE / 3)"},
    "the same part again": {"parts": "part, labels = x[:SIZE], y[:SIZE]"},
    "tasks": {
        "loop": "for task in range(3):",
        "parts": "part, labels = x[task * 8:task * 8 + 8], y[task * 8:task * 8 + 8]",
    },
    "one backward pass of all parts": {
        "loop": "losses = []; total = 0\n        for i in range(0, len(x), SIZE):",
        "backward": "losses.append(loss)",
        "step": "(sum(losses) / len(losses)).backward(); optimizer.step()",
    },
}


@pytest.mark.parametrize("name", WRONG)
def test_means_of_parts_are_found(name: str, tmp_path: Path) -> None:
    changes, edit = WRONG[name]
    report = rehearsed(tmp_path, TEXT.format(**{**PLAIN, **changes}))
    found = [f for f in report.findings if f.code == "undivided-loss"]
    assert len(found) == 1
    assert "parts of a batch are added up before a step" in found[0].message
    assert [edit] == [fix.message for fix in found[0].fixes if fix.checked]


@pytest.mark.parametrize("name", RIGHT)
def test_shares_of_parts_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, TEXT.format(**{**PLAIN, **RIGHT[name]}))
    assert "undivided-loss" not in [f.code for f in report.findings]
    assert not [f for f in report.findings if f.severity == "error"]
