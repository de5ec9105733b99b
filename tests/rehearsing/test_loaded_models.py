"""Models that are loaded and predict in training mode: with a graph that nothing uses,
or because `train()` was called on them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(48, 6), torch.randint(3, (48,)))


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), {layer})
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.body(x))


torch.save(Scorer().state_dict(), "scorer.pt")
model = Scorer()
model.load_state_dict(torch.load("scorer.pt"))
{mode}
{then}
"""
COUNTED = """\
right = 0
for x, y in DataLoader(data, batch_size=16):
    right += (model(x).argmax(1) == y).sum().item()
print(right)
"""
PREDICTED = """\
for i in range(3):
    with torch.no_grad():
        scores = model(data[8 * i : 8 * i + 8][0])
    print(scores.softmax(1).max(1).values.numpy())
"""
TRAINED = """\
optimizer = torch.optim.SGD({parameters}, lr=0.1)
for x, y in DataLoader(data, batch_size=16):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
BY_HAND = """\
for x, y in DataLoader(data, batch_size=16):
    loss = nn.functional.cross_entropy(model(x), y)
    parts = list(model.parameters())
    for part, grad in zip(parts, torch.autograd.grad(loss, parts)):
        part.data.sub_(0.1 * grad)
"""
TAKEN_ANEW = """\
for x, y in DataLoader(data, batch_size=16):
    model(x)
"""
NORM = "nn.BatchNorm1d(8)"
DROPOUT = "nn.Dropout(0.2)"


def find_modes(folder: Path, then: str, mode: str, layer: str) -> list[Finding]:
    """Return what is found in the program that says so of a mode."""
    text = PROGRAM.format(layer=layer, mode=mode, then=then)
    findings = rehearsed(folder, text).findings
    return [f for f in findings if f.code == "evaluated-in-training-mode"]


@pytest.mark.parametrize("layer", [NORM, DROPOUT])
def test_a_loaded_model_is_evaluated_with_gradients(layer: str, tmp_path: Path) -> None:
    (finding,) = find_modes(tmp_path, COUNTED, "", layer)
    assert finding.message.startswith("`Scorer` is loaded and used in training mode: ")
    (fix,) = finding.fixes
    assert fix.message == "`model.eval()`, `with torch.no_grad():` around the loop"
    assert fix.checked


@pytest.mark.parametrize("mode", ["model.train()", "model.cpu().train(True)"])
def test_a_loaded_model_is_put_into_training_mode(mode: str, tmp_path: Path) -> None:
    (finding,) = find_modes(tmp_path, PREDICTED, mode, NORM)
    assert "`Scorer` is loaded, put into training mode" in finding.message
    assert "its batch norm statistics include this data" in finding.message
    (fix,) = finding.fixes
    assert fix.message == f"`{mode.partition('.train')[0]}.eval()`"
    assert fix.checked


@pytest.mark.parametrize(
    ("then", "mode", "layer"),
    [
        (COUNTED, "model.eval()", NORM),
        (COUNTED, "", "nn.ReLU()"),
        (COUNTED, "", "nn.BatchNorm1d(8).eval()"),
        (COUNTED, "model.train()  # several draws, by mc_dropout", NORM),
        (TRAINED.format(parameters="model.parameters()"), "", NORM),
        (TRAINED.format(parameters="model.head.parameters()"), "", NORM),
        (BY_HAND, "", NORM),
        (TAKEN_ANEW + "model.eval()\n" + PREDICTED, "", NORM),
        (PREDICTED, "model.eval()", NORM),
        (PREDICTED, "model.train()", DROPOUT),
        (PREDICTED, "model.train()  # adapts to the new data", NORM),
        (PREDICTED, "model.train()", "nn.BatchNorm1d(8, track_running_stats=False)"),
        (PREDICTED, "model.eval()\nmodel.head.train()", NORM),
        (PREDICTED + "model.eval()\n" + PREDICTED, "model.train()", NORM),
        (PREDICTED + TRAINED.format(parameters="model.parameters()"),
         "model.train()", NORM),
        ("with torch.no_grad():\n    model(data[:][0])\n"
         "torch.save(model.state_dict(), 'new.pt')", "model.train()", NORM),
    ],
    ids=[
        "evaluated", "no layer", "a layer in evaluation", "several draws", "trained",
        "its head is trained", "trained by hand", "statistics taken anew",
        "predicting in evaluation", "dropout alone", "adapted", "no statistics",
        "a part in training", "evaluation later", "trained later", "only statistics",
    ],
)  # fmt: skip
def test_a_mode_that_is_meant(then: str, mode: str, layer: str, tmp_path: Path) -> None:
    assert not find_modes(tmp_path, then, mode, layer)
