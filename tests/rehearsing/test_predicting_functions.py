"""Functions that predict without `eval()`, and callers that measure their results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import torch
from torch import nn

x, y = torch.randn(80, 6), torch.randint(3, (80,))
x_train, y_train, x_test, y_test = x[:60], y[:60], x[60:], y[60:]
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def predict(model, x):
    {mode}
    outputs = []
    with torch.no_grad():
        for i in range(0, len(x), 10):
            outputs.append(model(x[i:i + 10]))
    return torch.cat(outputs)

def measure(outputs, labels):
    return (outputs.argmax(1) == labels).float().mean().item()

for epoch in range(3):
    model.train()
    for i in range(0, 60, 20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x_train[i:i + 20]), y_train[i:i + 20])
        loss.backward()
        optimizer.step()
    {use}
"""
WRONG = {
    "a function that measures": "print(measure(predict(model, x_test), y_test))",
    "after all": "pass\nprint(measure(predict(model, x_test), y_test))",
}
RIGHT = {
    "in evaluation mode": ("model.eval()", WRONG["a function that measures"]),
    "shown only": ("pass", "print(predict(model, x_test).shape)"),
    "the data of the training": (
        "pass", "print(measure(predict(model, x_train), y_train))",
    ),
    "several draws": (
        "pass  # MC dropout", "print(measure(predict(model, x_test), y_test))",
    ),
}  # fmt: skip


def _find_codes(folder: Path, mode: str, use: str) -> list[str]:
    text = TEXT.replace("{mode}", mode).replace("{use}", use)
    return [finding.code for finding in rehearsed(folder, text).findings]


@pytest.mark.parametrize("name", WRONG)
def test_predictions_in_training_mode_are_found(name: str, tmp_path: Path) -> None:
    assert _find_codes(tmp_path, "pass", WRONG[name]) == ["evaluated-in-training-mode"]


@pytest.mark.parametrize("name", RIGHT)
def test_predictions_in_evaluation_mode_are_right(name: str, tmp_path: Path) -> None:
    assert "evaluated-in-training-mode" not in _find_codes(tmp_path, *RIGHT[name])
