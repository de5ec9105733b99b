"""Samples that a training draws to show them: kept with their graphs, or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.codes import GRAPH_KEPT
from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    from torch import nn
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
    critic = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    fixed = torch.randn(8, 6)
    seen = []
    {function}
    for step in range(6):
        x = torch.randn(8, 6)
        loss = (net(x) - x).pow(2).mean()
        {before}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {behind}
    """
SHOW = """\
def show(x):
        rows = [x]
        for k in range(4):
            x = net(x){value}
            rows.append(x)
        seen.append(torch.cat(rows).{read})
"""


@pytest.mark.parametrize(
    ("function", "behind"),
    [
        (SHOW.format(value="", read="data.numpy()"), "show(fixed)"),
        (SHOW.format(value=" + 1", read="detach()"), "if step % 2 == 0: show(fixed)"),
        (SHOW.format(value="", read="mean().item()").replace("append(x)",
                                                             "append(net(x))"),
         "show(x)"),
    ],
    ids=["frames", "at some steps", "a call"],
)  # fmt: skip
def test_samples_with_graphs(function: str, behind: str, tmp_path: Path) -> None:
    program = PROGRAM.format(function=function, before="", behind=behind)
    report = rehearsed(tmp_path, program)
    (finding,) = (f for f in report.findings if f.code == GRAPH_KEPT)
    assert "though only its values are read" in finding.message
    fix = next(fix.message for fix in finding.fixes if fix.checked)
    assert ".detach()`" in fix


@pytest.mark.parametrize(
    ("function", "before", "behind"),
    [
        ("@torch.no_grad()\n    " + SHOW.format(value="", read="numpy()"), "",
         "show(fixed)"),
        (SHOW.format(value=".detach()", read="numpy()"), "", "show(fixed)"),
        # the last samples, behind the training
        (SHOW.format(value="", read="data.numpy()"), "", "\n    show(fixed)"),
        # a rollout whose values are an advantage
        (SHOW.format(value="", read="detach()"),
         "show(fixed); loss = loss + (net(x) * seen[-1].mean()).mean()", ""),
        # the steps are a part of the loss, and shown
        (SHOW.format(value="", read="pow(2).mean()"),
         "show(fixed); loss = loss + seen.pop(); print(loss.item())", ""),
        # a few outputs of different networks
        ("def show(x):\n        rows = []\n        for part in (net, critic):\n"
         "            rows.append(part(x).mean())\n"
         "        seen.append(torch.stack(rows).tolist())\n", "", "show(fixed)"),
    ],
    ids=["no_grad", "detached", "behind the training", "advantage", "loss",
         "one turn of a network"],
)  # fmt: skip
def test_other_samples(function: str, before: str, behind: str, tmp_path: Path) -> None:
    program = PROGRAM.format(function=function, before=before, behind=behind)
    report = rehearsed(tmp_path, program)
    assert [f.message for f in report.findings if f.code == GRAPH_KEPT] == []
