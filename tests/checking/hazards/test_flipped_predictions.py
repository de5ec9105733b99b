"""Predictions of flipped pictures that are averaged with those of the pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
pool = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
x = torch.randn(4, 3, 16, 16)
model.eval()
with torch.no_grad():
"""
WRONG = {
    "added": (
        "    p = model(x).softmax(1) + model(x.flip(-1)).softmax(1)\n"
        "    out = p.argmax(1)",
        "`model(x.flip(-1)).flip(-1)`",
    ),
    "over all flips": (
        "    p = torch.sigmoid(model(x))\n"
        "    for dims in ([2], [3], [2, 3]):\n"
        "        p += torch.sigmoid(model(torch.flip(x, dims)))\n"
        "    p = p / 4",
        "`model(torch.flip(x, dims)).flip(dims)`",
    ),
    "stacked, in a function": (
        "    def predict(net, image):\n"
        "        flipped = torch.flip(image, dims=[3])\n"
        "        a, b = net(image), net(flipped)\n"
        "        return torch.stack([a, b]).mean(0)\n"
        "    out = predict(model, x)",
        "`net(flipped).flip(dims=[3])`",
    ),
    "turned": (
        "    p = model(x) + model(torch.rot90(x, 1, [2, 3]))\n    p = p / 2",
        "`model(torch.rot90(x, 1, [2, 3])).rot90(-1, [2, 3])`",
    ),
}
RIGHT = {
    "flipped back": "    p = model(x) + model(x.flip(-1)).flip(-1)",
    "flipped back later": "    preds = []\n"
    "    for dims in ([2], [3]):\n"
    "        y = torch.sigmoid(model(x.flip(dims)))\n"
    "        preds.append(y.flip(dims))\n"
    "    preds.append(torch.sigmoid(model(x)))\n"
    "    p = torch.stack(preds).mean(0)",
    "scores of whole pictures": "    p = pool(x) + pool(x.flip(-1))",
    "another layer": "    other = nn.Conv2d(3, 2, 1)\n"
    "    p = model(x) + other(x.flip(-1))",
    "a difference": "    p = (model(x) - model(x.flip(-1))).abs().mean()",
    "means over all places": "    p = (model(x) + model(x.flip(-1))).mean((2, 3))",
    "channels": "    p = model(x) + model(x.flip(1))",
    "a mixture of pictures": "    p = model(x + x.flip(-1))",
}


@pytest.mark.parametrize("name", WRONG)
def test_flips_that_are_not_undone_are_found(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    finding = next(f for f in findings if f.code == "flip-not-undone")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_right_one(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "flip-not-undone" not in {f.code for f in findings}
