"""Outputs of both modes of a model that are compared, and right comparisons."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F

x, y = torch.randn(60, 6), torch.randint(3, (60,))
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.2),
                      nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters())


def train():
    model.train()
    for rows in torch.randperm(60).split(20):
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()


train()
with torch.no_grad():
"""
WRONG = {
    "a difference": (
        "model.eval()\na = model(x)\nmodel.train()\nb = model(x)\n"
        "print((a - b).norm())",
        "without `model.train()`",
    ),
    "before eval()": (
        "a = model(x)\nmodel.eval()\nb = model(x)\nprint(torch.allclose(a, b))",
        "`model.eval()`",
    ),
    "probabilities": (
        "model.eval()\na = model(x).softmax(1)\nmodel.train()\n"
        "b = model(x).softmax(1)\n"
        "print(torch.equal(b.cpu(), a.cpu()))",
        "without `model.train()`",
    ),
    "an error": (
        "model.eval()\na = model(x)\nmodel.train()\n"
        "print(F.mse_loss(a, model(x)).item())",
        "",
    ),
}
RIGHT = {
    "one mode": "model.eval()\na = model(x)\nb = model(x)\nprint((a - b).norm())",
    "draws of dropout": "a = model(x)\nb = model(x)\nprint((a - b).std())",
    "modes that are named": (
        "train_out = model(x)\nmodel.eval()\neval_out = model(x)\n"
        "print((train_out - eval_out).abs().max())"
    ),
    "outputs that are to differ": (
        "a = model(x)\nmodel.eval()\nb = model(x)\nprint(not torch.allclose(a, b))"
    ),
    "other inputs": (
        "model.eval()\na = model(x)\nmodel.train()\nb = model(x + 1)\n"
        "print((a - b).norm())"
    ),
    "outputs before and after a training": (
        "a = model(x)\nwith torch.enable_grad():\n    train()\nmodel.eval()\n"
        "b = model(x)\nprint((a - b).norm())"
    ),
    "a target of a training": (
        "model.eval()\na = model(x)\nmodel.train()\nwith torch.enable_grad():\n"
        "    optimizer.zero_grad()\n    F.mse_loss(model(x), a).backward()\n"
        "    optimizer.step()"
    ),
}


def _list_findings(folder: Path, body: str) -> list[tuple[str, str]]:
    """The code and the first edit of each warning."""
    report = rehearsed(folder, SCRIPT + indent(body, "    "))
    assert report.complete
    return [
        (finding.code, finding.fixes[0].message if finding.fixes else "")
        for finding in report.findings
        if finding.severity != "note"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_two_modes_are_told(name: str, tmp_path: Path) -> None:
    body, edit = WRONG[name]
    ((code, fix),) = _list_findings(tmp_path, body)
    assert code == "evaluated-in-training-mode"
    assert fix == edit or not edit


@pytest.mark.parametrize("name", RIGHT)
def test_other_comparisons_are_quiet(name: str, tmp_path: Path) -> None:
    assert _list_findings(tmp_path, RIGHT[name]) == []
