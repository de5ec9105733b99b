"""Weights of two layers in a row that are all one number."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 8{bias})
        self.last = nn.Linear(8, 2)
{own}

    def forward(self, x):
        return self.last({drop}(torch.tanh(self.second(torch.tanh(self.first(x))))))


{init}
model = Net()
{apply}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    loss = model(torch.randn(16, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FUNCTION = """\
def init(m):
    if isinstance(m, nn.Linear):
        {weight}
        {bias}
"""
ZERO = "nn.init.zeros_(m.bias)"
ALL = "model.apply(init)"


def write(weight: str, bias: str = ZERO, **parts: str) -> str:
    values = {"own": "", "bias": "", "drop": "", "apply": ALL}
    values["init"] = FUNCTION.format(weight=weight, bias=bias)
    return SCRIPT.format(**{**values, **parts})


LOOP = """\
for m in self.modules():
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.ones_(m.weight)
        if m.bias is not None:
            nn.init.constant_(m.bias, 0)
"""
BOTH = """\
nn.init.constant_(self.second.weight, 0.5)
nn.init.zeros_(self.second.bias)
self.last.weight.data.fill_(0.5)
"""
WRONG = {
    "a constant": write("nn.init.constant_(m.weight, 0.1)"),
    "ones": write("nn.init.ones_(m.weight)"),
    "zeros": write("nn.init.zeros_(m.weight)"),
    "data": write("m.weight.data.fill_(0.1)", "m.bias.data.zero_()"),
    "in a loop": write("pass", own=indent(LOOP, " " * 8), apply=""),
    "two layers": write("pass", own=indent(BOTH, " " * 8), apply=""),
}
NORMS = """\
for m in self.modules():
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
    elif isinstance(m, nn.BatchNorm1d):
        nn.init.constant_(m.weight, 1)
        nn.init.zeros_(m.bias)
"""
RIGHT = {
    "drawn": write("nn.init.xavier_uniform_(m.weight)"),
    "drawn behind": write("nn.init.zeros_(m.weight); nn.init.normal_(m.weight)\n"
                          "        nn.init.normal_(m.weight)"),
    "random biases": write("nn.init.constant_(m.weight, 0.1)", "pass"),
    "norms": write("pass", own=indent(NORMS, " " * 8), apply=""),
    "the last alone": write(
        "pass", apply="", own="        nn.init.zeros_(self.last.weight)"
    ),
    "never applied": write("nn.init.constant_(m.weight, 0.1)", apply=""),
}  # fmt: skip


def find_equal(folder: Path, text: str) -> list[Finding]:
    report = rehearsed(folder, text)
    assert report.complete
    return [each for each in report.findings if each.code == "equal-units"]


@pytest.mark.parametrize("case", WRONG)
def test_units_that_stay_alike_are_told(case: str, tmp_path: Path) -> None:
    (finding,) = find_equal(tmp_path, WRONG[case])
    (fix,) = [each for each in finding.fixes if each.checked]
    assert "init.xavier_uniform_(" in fix.message


@pytest.mark.parametrize("case", RIGHT)
def test_weights_that_differ_are_quiet(case: str, tmp_path: Path) -> None:
    assert not find_equal(tmp_path, RIGHT[case])
