"""Transforms of the training where those of the evaluation beside them are meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RandomFlip:
    def __call__(self, x):
        return x.flip(-1) if torch.rand(1) < 0.5 else x


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Signals(Dataset):
    def __init__(self, count, transform):
        self.x, self.transform = torch.randn(count, 6), transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.transform(self.x[i]), i % 2


train_transform = Compose([RandomFlip(), torch.tanh])
val_transform = Compose([torch.tanh])
train_set = Signals(32, train_transform)
val_set = Signals(16, VAL)
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.no_grad()
def predict(x):
    model.eval()
    return model(PREDICT(x)).argmax(-1)


for x, y in DataLoader(train_set, 8, shuffle=True):
    model.train()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for x, y in DataLoader(val_set, 8):
        print((model(x).argmax(1) == y).sum().item())
print(predict(torch.randn(6)))
"""
EDIT = "`val_transform` for `train_transform`"


@pytest.mark.parametrize(
    ("val", "predict", "part"),
    [
        ("train_transform", "torch.tanh", "nothing reads `val_transform`"),
        ("val_transform", "train_transform", "this predicts on samples"),
    ],
    ids=["evaluated", "predicted"],
)
def test_a_transform_of_the_training_is_told(
    val: str, predict: str, part: str, tmp_path: Path
) -> None:
    text = SCRIPT.replace("VAL", val).replace("PREDICT", predict)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [each for each in findings if each.code == "augmented-evaluation"]
    assert part in finding.message
    assert finding.fixes[0].message == EDIT


@pytest.mark.parametrize("predict", ["val_transform", "torch.tanh"])
def test_their_own_transform_is_quiet(predict: str, tmp_path: Path) -> None:
    text = SCRIPT.replace("VAL", "val_transform").replace("PREDICT", predict)
    codes = [finding.code for finding in rehearsed(tmp_path, text).findings]
    assert "augmented-evaluation" not in codes
