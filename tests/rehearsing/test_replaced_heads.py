"""Heads that are replaced as those of another model have to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(8, 10)

    def forward(self, x):
        return self.classifier(x)

class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(x)

class Mobile(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 10))

    def forward(self, x):
        return self.classifier(x)

class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Sequential(
            nn.Linear(8, 16), nn.ReLU(), nn.Dropout(), nn.Linear(16, 16), nn.ReLU(),
            nn.Dropout(), nn.Linear(16, 10),
        )

    def forward(self, x):
        return self.classifier(x)

def build(classes):
    net = {model}()
    {head}
    return net

net = build(5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = nn.functional.cross_entropy(net(torch.randn(2, 8)), torch.tensor([0, 1]))
loss.backward()
optimizer.step()
"""
BY_INDEX = "net.classifier[6] = nn.Linear(net.classifier[6].in_features, classes)"
IN_TWO = """width = net.fc[0].in_features
    net.fc[0] = nn.Linear(width, classes)"""
SET_ALONE = "net.classifier[1] = nn.Linear(8, classes)"
BY_NAME = "net.fc = nn.Linear(net.fc.in_features, classes)"
WHOLE = "net.classifier = nn.Linear(net.classifier.in_features, classes)"
MISTAKES = {
    "an index": ("Dense", BY_INDEX, "`net.classifier` for `net.classifier[6]`"),
    "an index in two lines": ("Residual", IN_TWO, "`net.fc` for `net.fc[0]`"),
    "an item is set": (
        "Dense", SET_ALONE, "`net.classifier` for `net.classifier[1]`",
    ),
    "fewer layers": ("Mobile", BY_INDEX, "`net.classifier[-1]`"),
    "another name": ("Dense", BY_NAME, "`net.classifier` for `net.fc`"),
    "another name of several": (
        "Mobile", BY_NAME, "`net.classifier[-1]` for `net.fc`",
    ),
    "several layers": (
        "Mobile", WHOLE, "`net.classifier[-1].in_features`",
    ),
    "the last of several layers": (
        "Deep", WHOLE, "`net.classifier[-1]` for `net.classifier`",
    ),
}  # fmt: skip
RIGHT = {
    "one layer": ("Dense", WHOLE),
    "the last layer": ("Deep", BY_INDEX),
    "its name": ("Residual", BY_NAME),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_head_is_replaced_as_the_model_has_it(name: str, tmp_path: Path) -> None:
    model, head, fix = MISTAKES[name]
    report = rehearsed(tmp_path, PROGRAM.format(model=model, head=head))
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.message.startswith("`net")
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_heads_as_they_are_meant(name: str, tmp_path: Path) -> None:
    model, head = RIGHT[name]
    report = rehearsed(tmp_path, PROGRAM.format(model=model, head=head))
    assert not [f for f in report.findings if f.severity == "error"]


def test_an_own_model_is_no_model_of_a_library(tmp_path: Path) -> None:
    text = """\
from torch import nn

class Net(nn.Module):
    pass

print(Net().fc)
"""
    (finding,) = rehearsed(tmp_path, text).findings
    assert "last layer" not in finding.message
