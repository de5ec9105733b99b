"""Overlaps of boxes without a limit, last steps that are read too late, and ends of
episodes that a function gets and does not read.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn

net = nn.Linear(6, 4)
rnn = nn.GRU(6, 6, batch_first=True)
optimizer = torch.optim.SGD([*net.parameters(), *rnn.parameters()], lr=0.1)

def returns(rewards, values, dones, gamma=0.99):
    total, out = 0.0, []
    for t in reversed(range(len(rewards) - 1)):
        total = rewards[t] + gamma * {next}
        out.insert(0, total)
    return torch.stack(out)

for _ in range(2):
    x = torch.randn(8, 6)
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BOXES = """\
a, b = net(x), torch.rand(8, 4)
x1, y1 = torch.max(a[:, 0], b[:, 0]), torch.max(a[:, 1], b[:, 1])
x2, y2 = torch.min(a[:, 2], b[:, 2]), torch.min(a[:, 3], b[:, 3])
inter = {inter}
loss = 1 - inter.mean()
"""
STEPS = """\
lengths = torch.tensor([3, 5, 2, 4, 3, 5, 2, 4])
out, _ = rnn(torch.randn(8, 6, 6))
loss = net(out[torch.arange(8), {at}]).square().mean()
"""
ENDS = """\
rewards, dones = torch.randn(8), torch.zeros(8)
values = net(x)[:, 0]
loss = (values[:-1] - returns(rewards, values.detach(), dones)).square().mean()
"""
CASES = {
    "sides without a limit": (
        BOXES.format(inter="(x2 - x1) * (y2 - y1)"), "values[t + 1]", "box-format",
        "`(x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)`",
    ),
    "sides with a limit": (
        BOXES.format(inter="(x2 - x1).clamp(min=0) * (y2 - y1).clamp(min=0)"),
        "values[t + 1] * (1 - dones[t])", "", None,
    ),
    "sides where they overlap": (
        BOXES.format(inter="(x2 - x1) * (y2 - y1)").replace(
            "loss = 1 -", "inter = inter * ((x2 > x1) & (y2 > y1))\nloss = 1 -"
        ),
        "values[t + 1] * (1 - dones[t])", "", None,
    ),
    "lengths that are places": (
        STEPS.format(at="lengths").replace("out, _", "lengths = lengths - 1\nout, _"),
        "values[t + 1] * (1 - dones[t])", "", None,
    ),
    "the step behind": (
        STEPS.format(at="lengths"), "values[t + 1] * (1 - dones[t])",
        "padded-last-step", "`lengths - 1`",
    ),
    "the last step": (
        STEPS.format(at="lengths - 1"), "values[t + 1] * (1 - dones[t])", "", None,
    ),
    "ends that are not read": (
        ENDS, "values[t + 1]", "terminal-ignored",
        "`gamma * values[t + 1] * (1 - dones[t])`",
    ),
    "ends that are read": (ENDS, "values[t + 1] * (1 - dones[t])", "", None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_place_and_its_edit_are_told(case: str, tmp_path: Path) -> None:
    body, following, code, fix = CASES[case]
    text = HEAD.format(body=indent(body, "    "), next=following)
    if code == "box-format":
        text = text.replace(following, f"{following} * (1 - dones[t])")
    report = rehearsed(tmp_path, text)
    codes = [f.code for f in report.findings if f.code != "not-in-optimizer"]
    assert codes == ([code] if code else [])
    if fix is not None:
        assert [edit.message for edit in report.findings[0].fixes][:1] == [fix]
