"""Parameters that are in two groups of an optimizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos = nn.Embedding(5, 6)
        self.body = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8))
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(self.body(x + self.pos.weight).mean(1))

model = Net()
{lines}
for _ in range(2):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 5, 6)), torch.randint(3, (4,))).backward()
    optimizer.step()
"""
FILLED = """\
decay, plain = [], []
for name, p in model.named_parameters():
    if p.dim() >= 2:
        decay.append(p)
    {second}:
        plain.append(p)
groups = [{{"params": decay, "weight_decay": 0.1}}, {{"params": plain}}]
optimizer = torch.optim.SGD(groups, lr=0.1, weight_decay=0.0)"""
SECOND = 'if p.dim() < 2 or "pos" in name'
BOTH = """\
optimizer = torch.optim.SGD([
    {{"params": {body}}},
    {{"params": model.fc.parameters(), "lr": 0.1}},
], lr=0.01)"""
WITHOUT = '[p for n, p in model.named_parameters() if not n.startswith("fc.")]'
RIGHT = {
    "tests of which one holds": FILLED.format(second=f"el{SECOND}"),
    "a rest": FILLED.format(second="else"),
    "two layers": BOTH.format(body="model.body.parameters()"),
    "all but a layer": BOTH.format(body=WITHOUT),
}


def test_the_parameter_that_passes_two_tests_is_named(tmp_path: Path) -> None:
    text = PROGRAM.format(lines=FILLED.format(second=SECOND))
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.message == (
        "`model.pos.weight` is in two groups: both tests hold, `p.dim() >= 2` and"
        ' `p.dim() < 2 or "pos" in name`'
    )
    assert [fix.message for fix in finding.fixes] == [
        f"`el{SECOND}`",
        '`if p.dim() >= 2 and not (p.dim() < 2 or "pos" in name)`',
    ]
    assert all(fix.checked for fix in finding.fixes)


def test_a_layer_is_left_out_of_the_group_of_its_model(tmp_path: Path) -> None:
    text = PROGRAM.format(lines=BOTH.format(body="model.parameters()"))
    finding = rehearsed(tmp_path, text).findings[-1]
    assert finding.message.startswith("the parameters of `model.fc.parameters()`")
    assert finding.fixes[0].message == f"`{WITHOUT}`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_meant_stays_as_it_is(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, PROGRAM.format(lines=RIGHT[name])).findings
    assert all(finding.severity != "error" for finding in findings), findings
