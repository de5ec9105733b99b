"""Models that are asked about raw samples, and trained on normalized ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def prepare(pictures):
    x = torch.as_tensor(pictures, dtype=torch.float32).flatten(1) / 255.0
    return (x - 0.4) / 0.2


class Predictor:
    def __init__(self, net):
        self.net = net.eval()

    @torch.no_grad()
    def __call__(self, pictures):
        x = ASKED
        return self.net(x).argmax(1)


def predict_raw(net, pictures):
    net.eval()
    with torch.no_grad():
        x = torch.tensor(pictures, dtype=torch.float32).flatten(1)
        return net(x).argmax(1)


def draw(count):
    return np.random.randint(0, 256, (count, 4, 4)).astype(np.uint8)


x, y = prepare(draw(40)), torch.randint(3, (40,))
net = nn.Linear(16, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(x, y), batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(a), b).backward()
    optimizer.step()
fresh = draw(5)
USE
"""
RAW = "torch.as_tensor(pictures, dtype=torch.float32).flatten(1)"
FUNCTION = SCRIPT[SCRIPT.index("def predict_raw") : SCRIPT.index("def draw")]
WRONG = {
    "a class": (RAW, "print(Predictor(net)(fresh))", False, "prepare(pictures)"),
    "a function": ("0", "print(predict_raw(net, fresh))", True, "prepare(pictures)"),
    "scaled only": (
        f"{RAW} / 255",
        "asked = Predictor(net)\nprint(asked(fresh))",
        False,
        "prepare(pictures)",
    ),
}
RIGHT = {
    "prepared inside": ("prepare(pictures)", "print(Predictor(net)(fresh))", False),
    "prepared by the caller": (
        RAW,
        "asked = Predictor(net)\nprint(asked(prepare(fresh).numpy()))",
        False,
    ),
    "prepared before": (
        RAW,
        "x_new = prepare(fresh)\nprint(Predictor(net)(x_new))",
        False,
    ),
    "normalized inside": (
        f"({RAW} / 255 - 0.4) / 0.2",
        "print(Predictor(net)(fresh))",
        False,
    ),
}


def write(asked: str, use: str, has_function: bool) -> str:
    """Return the script, with the function beside the class or without it."""
    text = SCRIPT.replace("ASKED", asked).replace("USE", use)
    return text if has_function else text.replace(FUNCTION, "")


@pytest.mark.parametrize("name", WRONG)
def test_a_model_is_asked_about_raw_samples(name: str, tmp_path: Path) -> None:
    asked, use, has_function, edit = WRONG[name]
    (finding,) = rehearsed(tmp_path, write(asked, use, has_function)).findings
    assert finding.code == "unequal-transforms"
    assert [fix.message for fix in finding.fixes] == [f"`{edit}`"]


@pytest.mark.parametrize("name", RIGHT)
def test_a_model_is_asked_about_normalized_samples(name: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, write(*RIGHT[name])).findings


def test_a_model_that_is_trained_on_raw_samples(tmp_path: Path) -> None:
    text = write(RAW, "print(Predictor(net)(fresh))", False)
    text = text.replace(
        "x, y = prepare(draw(40))", "x, y = torch.randn(40, 16)"
    ).replace("fresh = draw(5)", "fresh = draw(5)\nprint(prepare(fresh).mean())")
    assert not rehearsed(tmp_path, text).findings
