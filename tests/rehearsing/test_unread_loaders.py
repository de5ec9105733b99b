"""Loaders that nothing reads, where the loader of the other part is read twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import UNUSED_SPLIT
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(n, shuffle):
    data = TensorDataset(torch.randn(n, 8), torch.randint(0, 3, (n,)))
    return DataLoader(data, batch_size=16, shuffle=shuffle)


@torch.no_grad()
def evaluate(net, loader):
    right = 0
    for x, y in loader:
        right += (net(x).argmax(1) == y).sum().item()
    return right


train_loader, val_loader = make_loader(64, True), make_loader(32, False)
net = nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    net.eval()
    EVALUATION
    net.train()
"""
LOOP = """\
with torch.no_grad():
        for x, y in LOADER:
            right = (net(x).argmax(1) == y).sum().item()
        print(right)
"""


def find_unread(folder: Path, text: str) -> list[tuple[str, list[str]]]:
    """Return what is said of loaders that nothing reads, with its edits."""
    return [
        (finding.message, [fix.message for fix in finding.fixes])
        for finding in rehearsed(folder, text).findings
        if finding.code == UNUSED_SPLIT
    ]


@pytest.mark.parametrize(
    "evaluation",
    [
        LOOP.replace("LOADER", "train_loader"),
        "print(evaluate(net, train_loader))",
        "print(evaluate(net, train_loader) / len(val_loader.dataset))",
    ],
)
def test_an_evaluation_on_the_batches_of_training(
    evaluation: str, tmp_path: Path
) -> None:
    words = (
        "this evaluates on the batches of `train_loader`, and nothing reads those of"
        " `val_loader`"
    )
    text = SCRIPT.replace("EVALUATION", evaluation)
    edits = ["`val_loader` for `train_loader`"]
    assert find_unread(tmp_path, text) == [(words, edits)]


def test_a_training_on_the_batches_of_the_test(tmp_path: Path) -> None:
    text = SCRIPT.replace("EVALUATION", LOOP.replace("LOADER", "val_loader"))
    text = text.replace("for x, y in train_loader", "for x, y in val_loader")
    (found,) = find_unread(tmp_path, text)
    assert found[0].startswith("this trains on the batches of `val_loader`")
    assert found[1] == ["`train_loader` for `val_loader`"]


@pytest.mark.parametrize(
    "evaluation",
    [
        LOOP.replace("LOADER", "val_loader"),
        "print(evaluate(net, val_loader))",
        "train_accuracy = evaluate(net, train_loader)",
        "print(sum(x.mean() for x, _ in train_loader))",
        "for x, _ in train_loader:\n        print(x.mean(), x.max())",
        "pass",
    ],
)
def test_loaders_that_are_read_as_meant(evaluation: str, tmp_path: Path) -> None:
    assert not find_unread(tmp_path, SCRIPT.replace("EVALUATION", evaluation))


def test_a_fault_of_ours_leaves_the_other_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapewright.analysis.training_mistakes import data_sets
    from shapewright.findings import faults

    def broken(scene: object) -> None:
        raise KeyError("a")

    monkeypatch.setattr(faults, "RAISED", False)  # as for a user
    monkeypatch.setattr(data_sets, "find_unread_loaders", broken)
    text = SCRIPT.replace("EVALUATION", "print(evaluate(net, val_loader))")
    text = text.replace("        optimizer.zero_grad()\n", "")
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "gradients-not-cleared"


IN_A_CLASS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, net, train_loader, valid_loader):
        self.net, self.mse = net, nn.MSELoss()
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def train(self):
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            self.mse(self.net(x), y).backward()
            self.optimizer.step()

    def validate(self):
        total = 0.0
        with torch.no_grad():
            for x, y in self.LOADER:
                total += self.mse(self.net(x), y).item()
        return total / len(self.valid_loader)


def load(rows):
    return DataLoader(TensorDataset(torch.randn(rows, 4), torch.randn(rows, 1)), 8)


trainer = Trainer(nn.Linear(4, 1), load(32), load(16))
for epoch in range(2):
    trainer.train()
    trainer.validate()
"""


@pytest.mark.parametrize(
    ("loader", "edits"),
    [("train_loader", [["`self.valid_loader` for `self.train_loader`"]]),
     ("valid_loader", [])],
)  # fmt: skip
def test_loaders_that_an_object_keeps(
    loader: str, edits: list[list[str]], tmp_path: Path
) -> None:
    text = IN_A_CLASS.replace("LOADER", loader)
    assert [edit for _, edit in find_unread(tmp_path, text)] == edits
