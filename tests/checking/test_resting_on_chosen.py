"""An error of the program's own check of a value that was supposed is a note."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

import shapewright as sw
from shapewright.record.report import Report

HEAD = """
import numpy
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
"""
RESTING = {
    "an argument": """
    def forward(self, x):
        hue = self.layer(x).mean().item()
        self.check(2 * hue + 7)
        return x

    def check(self, hue):
        if not -0.5 <= hue <= 0.5:
            raise ValueError(f"hue_factor ({hue}) is not in [-0.5, 0.5]")
""",
    "a keyword": """
    def forward(self, x):
        return self.check(x, limit=int(self.layer(x).sum()))

    def check(self, x, limit=0):
        assert limit < 5, "too many"
        return x
""",
    "an attribute": """
    def forward(self, x):
        self.hue = self.layer(x).mean().item()
        return self.check(x)

    def check(self, x):
        if self.hue > 0.5:
            raise ValueError("not in [-0.5, 0.5]")
        return x
""",
    "a truth": """
    def forward(self, x):
        if (self.layer(x) > 3).any():
            raise RuntimeError("out of range")
        return x
""",
    "an array": """
    def forward(self, x):
        values = self.layer(x).detach().numpy() * 300
        if values.max() > 255:
            raise ValueError("pixels lie below 256")
        return x
""",
    "a quotient": """
    def forward(self, x):
        rest = self.layer(x).mean().item() - 1.0
        return x / (1 / rest)
""",
    "a list": """
    def forward(self, x):
        index = self.layer(x).argmax().item() + 40
        return x * [1, 2, 3][index]
""",
    "numbers read in a comprehension": """
    def forward(self, x):
        letters = ["abc"[int(index)] for index in self.layer(x).argmax(1) % 3]
        return x * letters.index("c")
""",
    "what is passed first": """
    def forward(self, x):
        found = self.layer(x).sum().item()
        if found < 0:
            return x
        raise ValueError("a sum may not be positive")
""",
}
OWN = {
    "beside it": """
    def forward(self, x):
        scale = self.layer(x).mean().item()
        if x.shape[1] != 9:
            raise ValueError("nine features")
        return x * scale
""",
    "after it": """
    def forward(self, x):
        scale = self.layer(x).mean().item()
        return self.check(x, scale)

    def check(self, x, scale):
        kinds = {"a": 1}
        return x * scale * kinds["b"]
""",
    "under it": """
    def forward(self, x):
        if (self.layer(x) > 3).any():
            x = x.reshape(-1, 3)
        return x
""",
}


def checked(folder: Path, text: str) -> Report:
    file = folder / "model.py"
    file.write_text(HEAD + text)
    net = runpy.run_path(str(file))["Net"]()
    return sw.check(net, torch.empty(4, 8))


@pytest.mark.parametrize("name", RESTING)
def test_what_rests_on_a_supposed_value_is_a_note_without_a_fix(
    name: str, tmp_path: Path
) -> None:
    report = checked(tmp_path, RESTING[name])
    (finding,) = report.findings
    assert finding.severity == "note"
    assert finding.message.endswith("this rests on a value that was assumed")
    assert not finding.fixes
    assert "no findings" not in str(report)
    assert "did not reach its end" in str(report)


@pytest.mark.parametrize("name", OWN)
def test_what_does_not_stays_an_error(name: str, tmp_path: Path) -> None:
    report = checked(tmp_path, OWN[name])
    assert [each.severity for each in report.findings] == ["error"]
