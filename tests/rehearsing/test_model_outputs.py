"""Outputs that are like a dict: what is unpacked of them is their keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
from collections import OrderedDict
import torch
import torch.nn.functional as F
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.pooler = nn.Linear(8, 8)

    def forward(self, x):
        states = self.body(x)
        return OrderedDict(states=states, pooled=self.pooler(states[:, 0]))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        {lines}

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 5, 6)), torch.randint(3, (4,))).backward()
    optimizer.step()
"""
CALL = "self.encoder(x)"
POOLED = "return self.head(self.drop(pooled))"
MISTAKES = {
    "the second of two": (
        [f"_, pooled = {CALL}", POOLED], f'`pooled = {CALL}["pooled"]`',
    ),
    "a first name that nothing reads": (
        [f"states, pooled = {CALL}", POOLED], f'`pooled = {CALL}["pooled"]`',
    ),
    "the first of two": (
        [f"states, _ = {CALL}", "return self.head(states.mean(1))"],
        f'`states = {CALL}["states"]`',
    ),
    "both": (
        [f"states, pooled = {CALL}", "return self.head(states.mean(1) + pooled)"],
        f"`{CALL}.values()`",
    ),
    "an output with a name": (
        [f"out = {CALL}", "_, pooled = out", POOLED], '`pooled = out["pooled"]`',
    ),
    "two of three": (
        [
            "loss, states = Three()(x)",
            "return self.head(states.mean(1)) + 0 * loss.mean()",
        ],
        "`list(Three()(x).values())[:2]`",
    ),
}  # fmt: skip
THREE = """
class Three(nn.Module):
    def forward(self, x):
        states = F.pad(x, (0, 2))
        return dict(loss=x.mean(), states=states, cache=states)

model = Net()
"""


@pytest.mark.parametrize("name", MISTAKES)
def test_the_values_are_taken_in_place_of_the_keys(tmp_path: Path, name: str) -> None:
    lines, fix = MISTAKES[name]
    text = PROGRAM.format(lines="\n        ".join(lines))
    findings = rehearsed(tmp_path, text.replace("\nmodel = Net()\n", THREE)).findings
    finding = [each for each in findings if each.severity == "error"][-1]
    assert "like a dict" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "lines",
    [
        [f'pooled = {CALL}["pooled"]', POOLED],
        [f"_, pooled = {CALL}.values()", POOLED],
        [f"first, last = {CALL}", f"pooled = {CALL}[last]", POOLED],
    ],
)
def test_what_is_meant_stays_as_it_is(tmp_path: Path, lines: list[str]) -> None:
    text = PROGRAM.format(lines="\n        ".join(lines))
    assert rehearsed(tmp_path, text).findings == ()


def test_an_output_that_is_read_twice_is_taken_where_it_is_set(tmp_path: Path) -> None:
    lines = ["out = Scores()(x)", "assert out.shape", "return self.head(out)"]
    kind = """
class ScoresOutput(OrderedDict):
    @property
    def logits(self):
        return self["logits"]

class Scores(nn.Module):
    def forward(self, x):
        return ScoresOutput(logits=F.pad(x[:, 0], (0, 2)))

model = Net()
"""
    text = PROGRAM.format(lines="\n        ".join(lines))
    findings = rehearsed(tmp_path, text.replace("\nmodel = Net()\n", kind)).findings
    finding = [each for each in findings if each.severity == "error"][-1]
    assert finding.fixes[0].message == "`out = Scores()(x).logits`"
    assert finding.fixes[0].checked
