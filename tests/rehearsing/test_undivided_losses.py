"""Gradients of several batches, added up before a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(64, 6), torch.randint(3, (64,)))
loader = DataLoader(data, 8, shuffle=True)
model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
criterion = nn.CrossEntropyLoss({reduction})
STEPS, settings = 4, {{"accumulate": 4}}
optimizer = torch.optim.{optimizer}
for epoch in range(2):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = {loss}
        {backward}
        if {test}:
            {before}
            optimizer.step()
            optimizer.zero_grad()
"""
PLAIN = {
    "reduction": "", "optimizer": "SGD(model.parameters(), lr=0.1)",
    "loss": "criterion(model(x), y)", "backward": "loss.backward()",
    "test": "(i + 1) % STEPS == 0", "before": "pass",
}  # fmt: skip
WRONG = {
    "a name": {},
    "an entry": {"test": "(i + 1) % settings['accumulate'] == 0"},
    "a number": {"test": "i % 4 == 3"},
    "no comparison": {"test": "not (i + 1) % STEPS"},
    "the last batch too": {"test": "(i + 1) % STEPS == 0 or i + 1 == len(loader)"},
    "a count of steps": {"before": "updates = len(loader) // STEPS"},
    "a sum of two losses": {
        "loss": "criterion(model(x), y) + 0.1 * model[0].weight.pow(2).mean()"
    },
}
RIGHT = {
    "divided": {"backward": "(loss / STEPS).backward()"},
    "divided before": {"loss": "criterion(model(x), y) / STEPS"},
    "divided in place": {"backward": "loss /= STEPS; loss.backward()"},
    "a smaller rate": {"optimizer": "SGD(model.parameters(), lr=0.1 / STEPS)"},
    "a sum": {"reduction": "reduction='sum'"},
    "Adam": {"optimizer": "Adam(model.parameters(), lr=1e-3)"},
    "clipped": {
        "before": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    },
    "gradients divided": {
        "before": "[p.grad.div_(STEPS) for p in model.parameters()]; scale = 1 / STEPS"
    },
    "one batch": {"test": "(i + 1) % 1 == 0"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_loss_that_nothing_divides_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, TEXT.format(**{**PLAIN, **WRONG[name]}))
    found = [f for f in report.findings if f.code == "undivided-loss"]
    assert len(found) == 1
    assert any("loss / " in fix.message for fix in found[0].fixes if fix.checked)


@pytest.mark.parametrize("name", RIGHT)
def test_a_loss_that_is_divided_or_needs_it_not_is_right(
    name: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, TEXT.format(**{**PLAIN, **RIGHT[name]}))
    assert "undivided-loss" not in [f.code for f in report.findings]
