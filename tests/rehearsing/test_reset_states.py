"""Counts that go on, samples without dropout, weights that are drawn anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
loader = DataLoader(data, 16)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)

"""
EPOCHS = """
{before}
for epoch in range(4):
    {first}
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seen += len(y)
        hits += (model(x).argmax(1) == y).sum().item()
    print(epoch, hits / seen)
{behind}
"""
LEGAL_COUNTS = {
    "in each epoch": ("", "seen, hits = 0, 0", ""),
    "read behind the epochs": ("seen, hits = 0, 0", "pass", "print(hits / seen)"),
    "begun again under a condition": (
        "seen, hits = 0, 0", "if epoch: seen, hits = 0, 0", "",
    ),
}  # fmt: skip
SAMPLES = (
    "model.eval()\nx = torch.randn(5, 6)\n"
    "print(torch.stack([model(x) for _ in range(8)]).std(0))",
    "model.eval()\nx = torch.randn(5, 6)\nkept = []\n"
    "for _ in range(4):\n    kept.append(model(x).unsqueeze(0))\n"
    "print(torch.cat(kept).var(0))",
)
LEGAL_SAMPLES = (
    "x = torch.randn(5, 6)\nprint(torch.stack([model(x) for _ in range(8)]).std(0))",
    "model.eval()\nmodel[2].train()\nx = torch.randn(5, 6)\n"
    "print(torch.stack([model(x) for _ in range(8)]).std(0))",
    "model.eval()\n"
    "print(torch.stack([model(torch.randn(5, 6)) for _ in range(8)]).std(0))",
    "model.eval()\nx = torch.randn(5, 6)\n"
    "print(torch.stack([model(x + torch.randn(5, 6)) for _ in range(8)]).std(0))",
)
LOADS = (
    "model.load_state_dict(model.state_dict())\nmodel.apply(init_weights)\n",
    "model.load_state_dict(model.state_dict())\n"
    "for p in model.parameters():\n    if p.dim() > 1:\n"
    "        nn.init.kaiming_normal_(p)\n",
)
LEGAL_LOADS = (
    "model.apply(init_weights)\nmodel.load_state_dict(model.state_dict())\n",
    "model.load_state_dict(model.state_dict())\nnn.init.zeros_(model[3].bias)\n"
    "nn.init.xavier_uniform_(model[3].weight)\n",
    "model.load_state_dict(model.state_dict())\nprint(model(torch.randn(2, 6)))\n"
    "model.apply(init_weights)\n",
)


def codes(folder: Path, text: str) -> list[str]:
    report = rehearsed(folder, HEAD + text)
    assert report.complete
    wanted = ("count-not-reset", "equal-samples", "loaded-weights-lost")
    return [f.code for f in report.findings if f.code in wanted]


def test_counts_of_all_epochs_are_found(tmp_path: Path) -> None:
    text = EPOCHS.format(before="seen, hits = 0, 0", first="model.train()", behind="")
    assert codes(tmp_path, text) == ["count-not-reset"]


@pytest.mark.parametrize("name", LEGAL_COUNTS)
def test_counts_that_are_meant_are_not(tmp_path: Path, name: str) -> None:
    before, first, behind = LEGAL_COUNTS[name]
    assert not codes(tmp_path, EPOCHS.format(before=before, first=first, behind=behind))


@pytest.mark.parametrize("text", SAMPLES)
def test_samples_of_a_model_without_dropout_are_found(
    tmp_path: Path, text: str
) -> None:
    assert codes(tmp_path, text) == ["equal-samples"]


@pytest.mark.parametrize("text", LEGAL_SAMPLES)
def test_samples_that_differ_are_not(tmp_path: Path, text: str) -> None:
    assert not codes(tmp_path, text)


@pytest.mark.parametrize("text", LOADS)
def test_weights_that_are_drawn_anew_are_found(tmp_path: Path, text: str) -> None:
    assert codes(tmp_path, text) == ["loaded-weights-lost"]


@pytest.mark.parametrize("text", LEGAL_LOADS)
def test_weights_that_are_kept_are_not(tmp_path: Path, text: str) -> None:
    assert not codes(tmp_path, text)
