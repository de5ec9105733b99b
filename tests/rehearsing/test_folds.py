"""Models that a cross validation goes on training, where a function has the steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


def build():
    return nn.Linear(6, 3)


def train_epoch(net, adam, rows):
    for part in rows.split(8):
        adam.zero_grad()
        nn.functional.cross_entropy(net(x[part]), y[part]).backward()
        adam.step()


def train(net, adam, rows):
    for epoch in range(2):
        train_epoch(net, adam, rows)


def score(net, rows):
    with torch.no_grad():
        return (net(x[rows]).argmax(1) == y[rows]).float().mean().item()


x, y = torch.randn(60, 6), torch.randint(3, (60,))
folds = torch.randperm(60).chunk(3)
"""
OUTER = """
model = build()
optimizer = torch.optim.Adam(model.parameters())
"""
LOOP = """
for fold, val_rows in enumerate(folds):
    train_rows = torch.cat([part for part in folds if part is not val_rows])
    HEAD
    train(MODEL, train_rows)
    print(fold, score(model, val_rows))
"""
OWN = """\
model = build()
    optimizer = torch.optim.Adam(model.parameters())"""
FINAL = """
final = build()
whole = torch.optim.Adam(final.parameters())
"""
RESET = """
def reset_weights(net):
    for parameter in net.parameters():
        nn.init.normal_(parameter)

"""
SAME = LOOP.replace("MODEL", "model, optimizer")
RIGHT = {
    "built in the loop": SAME.replace("HEAD", OWN),
    "another model for all samples": FINAL
    + SAME.replace("HEAD", OWN)
    + "train(final, whole, torch.arange(60))\n",
    "weights drawn anew": RESET + OUTER + SAME.replace("HEAD", "reset_weights(model)"),
    "no folds": OUTER
    + SAME.replace("HEAD", "pass")
    .replace("for fold, val_rows in enumerate(folds)", "for val_rows in parts")
    .replace("fold, ", "")
    .replace("part in folds", "part in parts")
    .replace("\nfor", "parts = torch.randperm(60).chunk(3)\nfor", 1),
}


def test_one_model_that_functions_train_in_all_folds(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + OUTER + SAME.replace("HEAD", "pass"))
    (finding,) = report.findings
    assert finding.code == "model-kept-over-folds"
    assert finding.fixes[0].message == "`model = build()` in the loop"


@pytest.mark.parametrize("name", RIGHT)
def test_a_model_for_each_fold(name: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "model-kept-over-folds" not in [finding.code for finding in findings]
