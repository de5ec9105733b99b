"""Networks that get the place of a step in a table for the step itself."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 8)
        self.body = nn.Linear(10, 2)

    def forward(self, x, t):
        return self.body(torch.cat([x, self.embed(t)], dim=-1))


class Sampler:
    def __init__(self, net):
        self.net = net
        scales = torch.linspace(1, 0.1, 200)
        self.steps = {steps}
        self.scales = {scales}

    def forward_pass(self, x):
{first}
        return x

    def backward_pass(self, x):
{second}
        return x


net = Net()
sampler = Sampler(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, t = torch.randn(16, 2), torch.randint(0, 200, (16,))
    loss = net(x, t).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    sampler.backward_pass(sampler.forward_pass(torch.randn(16, 2)))
"""
LOOP = "for i in range(20):\n    t = {t}\n    x = x - self.scales[i] * self.net(x, t)"
FULL = LOOP.format(t="torch.full((len(x),), i, dtype=torch.long)")
BACK = """\
for i, step in reversed(list(enumerate(self.steps))):
    ts = torch.full((len(x),), int(step), dtype=torch.long)
    x = x + self.scales[i] * self.net(x, ts)"""
STEPS = "np.arange(0, 200, 10) + 1"
CHOSEN = "scales[self.steps]"
TAKEN = LOOP.format(t="torch.full((len(x),), int(self.steps[i]), dtype=torch.long)")
WRONG = {
    "full": (STEPS, CHOSEN, FULL, BACK, "`int(self.steps[i])` for `i`"),
    "a list": (STEPS, CHOSEN, LOOP.format(t="torch.tensor([i] * len(x))"), BACK,
               "`int(self.steps[i])` for `i`"),
    "ones": (STEPS, CHOSEN,
             LOOP.format(t="i * torch.ones(len(x), dtype=torch.long)"), BACK,
             "`int(self.steps[i])` for `i`"),
    "an item": (STEPS, CHOSEN, FULL, TAKEN, "`int(self.steps[i])` for `i`"),
    "the other loop": (STEPS, CHOSEN, TAKEN, BACK.replace("int(step)", "i"),
                       "`int(self.steps[i])` for `i`"),
    "the table itself": (
        STEPS, "scales", FULL.replace("self.scales[i]", "self.scales[self.steps[i]]"),
        BACK.replace("self.scales[i]", "self.scales[step]"),
        "`int(self.steps[i])` for `i`"),
}  # fmt: skip
RIGHT = {
    "steps": (STEPS, CHOSEN, TAKEN, BACK),
    "all steps": ("np.arange(200)", "scales", FULL.replace("20", "200"), BACK),
    "places in both": (STEPS, CHOSEN, FULL, BACK.replace("int(step)", "i")),
    "all steps beside chosen ones": (
        STEPS, "scales", FULL.replace("20", "200"),
        BACK.replace("self.scales[i]", "self.scales[step]")),
}  # fmt: skip


def list_findings(folder: Path, *parts: str) -> list[Finding]:
    """Return what is said of indices that stand for values."""
    names = ("steps", "scales", "first", "second")
    loops = [indent(part, " " * 8) for part in parts[2:]]
    text = SCRIPT.format(**dict(zip(names, [*parts[:2], *loops], strict=True)))
    report = rehearsed(folder, text)
    assert report.complete, report
    return [found for found in report.findings if found.code == "index-as-value"]


@pytest.mark.parametrize("name", WRONG)
def test_the_place_of_a_step_is_found(name: str, tmp_path: Path) -> None:
    *parts, first = WRONG[name]
    (finding,) = list_findings(tmp_path, *parts)
    assert "is given `i`, a place in `self.steps`" in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


@pytest.mark.parametrize("name", RIGHT)
def test_steps_are_quiet(name: str, tmp_path: Path) -> None:
    assert list_findings(tmp_path, *RIGHT[name]) == []
