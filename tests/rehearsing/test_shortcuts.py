"""Shortcuts whose tensor an activation has written in place before they are added."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU({setting})
        self.conv, self.last = nn.Conv1d(4, 4, 3, padding=1), nn.Conv1d(4, 4, 1)
        self.body = nn.Sequential(nn.LeakyReLU(0.1, True), nn.Conv1d(4, 4, 1))

    def forward(self, x):
{forward}


model = nn.Sequential(nn.Conv1d(2, 4, 1), Block(), Block())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randn(8, 2, 9)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "another name": "same = x\nout = self.conv(self.relu(x))\nreturn same + out",
    "the argument": "out = self.relu(x)\nout = self.conv(out)\nreturn out + x",
    "one name": "identity = x\nx = self.relu(x)\nx = self.conv(x)\nreturn x + identity",
    "added in place": "out = self.relu(x)\nout = self.conv(out)\nout += x\nreturn out",
    "a function": "out = F.relu(x, inplace=True)\nreturn self.conv(out) + x",
    "layers in a row": "return self.body(x) + x",
    "layers behind a name": "out = self.body(x)\nreturn x + self.last(out)",
}
RIGHT = {
    "what was activated": "x = self.relu(x)\nreturn x + self.conv(x)",
    "the name of the result": "out = self.relu(x)\nreturn out + self.conv(out)",
    "a copy": "same = x.clone()\nout = self.conv(self.relu(x))\nreturn same + out",
    "on purpose": "self.relu(x)\nreturn x + self.conv(x)",
    "of the convolution": "out = self.relu(self.conv(x))\nreturn x + self.last(out)",
    "activated before": "x = F.relu(self.last(x))\nout = self.relu(x)\n"
                        "return x + self.conv(out)",
    "named behind": "out = self.relu(x)\nsame = out\nreturn same + self.conv(out)",
}  # fmt: skip


def find_shortcuts(folder: Path, forward: str, setting: str) -> list[Finding]:
    text = SCRIPT.format(forward=indent(forward, " " * 8), setting=setting)
    report = rehearsed(folder, text)
    assert report.complete
    return [each for each in report.findings if each.code == "same-tensor-kept"]


@pytest.mark.parametrize("case", WRONG)
def test_a_written_shortcut_is_told(case: str, tmp_path: Path) -> None:
    first, *_ = find_shortcuts(tmp_path, WRONG[case], "inplace=True")
    fixes = [fix.message for fix in first.fixes if fix.checked]
    assert fixes == ["`inplace=False`"]


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_added_as_meant_is_quiet(case: str, tmp_path: Path) -> None:
    assert not find_shortcuts(tmp_path, RIGHT[case], "inplace=True")


def test_an_activation_of_its_own_is_quiet(tmp_path: Path) -> None:
    assert not find_shortcuts(tmp_path, WRONG["another name"], "")
