"""Logarithms of probabilities of which a mask made some 0 exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

net = nn.Linear(6, 5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x, target = torch.randn(8, 3, 6), torch.rand(8, 5)
    allowed = torch.rand(8, 5) > 0.5
    allowed[:, 0] = True
    action = torch.zeros(8, 1, dtype=torch.long)
    scores = net(x)
    {lines}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
HIDDEN = "scores = scores.masked_fill(~allowed[:, None], float('-inf'))"
WRONG = {
    "summed over steps": (
        f"{HIDDEN}; p = scores.softmax(2).sum(1) / 3",
        "loss = -(torch.log(p) * target).sum()",
        "p.clamp(min=1e-10)",
    ),
    "an entropy": (
        "p = F.softmax(scores.masked_fill(~allowed[:, None], -1e9), dim=-1)",
        "loss = (p * p.log()).sum(-1).mean()",
        "p.clamp(min=1e-10)",
    ),
    "one place": (
        "scores = scores[:, 0]; scores[~allowed] = float('-inf')"
        "; p = torch.softmax(scores, 1)",
        "loss = -(p.log() * target).sum()",
        "p.clamp(min=1e-10)",
    ),
    "where": (
        "p = torch.where(allowed, scores[:, 0], float('-inf')).softmax(1)",
        "loss = F.nll_loss(p.log(), action[:, 0])",
        "p.clamp(min=1e-10)",
    ),
    "chosen actions": (
        "p = scores[:, 0].masked_fill(~allowed, float('-inf')).softmax(1)",
        "loss = -p.log().gather(1, action).mean()",
        "p.clamp(min=1e-10)",
    ),
    "replaced behind": (
        "p = scores[:, 0].masked_fill(~allowed, float('-inf')).softmax(1)",
        "loss = -(p.log().masked_fill(~allowed, 0) * target).sum()",
        "p.clamp(min=1e-10)",
    ),
}
RIGHT = {
    "a small number": (
        f"{HIDDEN}; p = scores.softmax(2).sum(1) / 3",
        "loss = -(torch.log(p + 1e-8) * target).sum()",
    ),
    "limited": (
        f"{HIDDEN}; p = scores.softmax(2).sum(1).clamp(min=1e-8) / 3",
        "loss = -(torch.log(p) * target).sum()",
    ),
    "no mask": ("p = scores.softmax(2).sum(1)", "loss = -(p.log() * target).sum()"),
    "chosen before": (
        "p = scores[:, 0].masked_fill(~allowed, float('-inf')).softmax(1)",
        "loss = -p.gather(1, action).log().mean()",
    ),
    "summed over masked": (
        "p = scores.masked_fill((torch.rand(8, 3) > 0.5)[..., None], float('-inf'))"
        ".softmax(1).sum(1)",
        "loss = -(p.log() * target).sum()",
    ),
    "summed over what differs": (
        "p = scores.masked_fill(torch.rand(8, 3, 5) > 0.5, -1e9).softmax(2).sum(1)",
        "loss = -(p.log() * target).sum()",
    ),
    "a weak fill": (
        "p = scores[:, 0].masked_fill(~allowed, -10.0).softmax(1)",
        "loss = -(p.log() * target).sum()",
    ),
    "log_softmax of a large fill": (
        "logp = scores[:, 0].masked_fill(~allowed, -1e4).log_softmax(1)",
        "loss = -(logp * target).mean()",
    ),
    "replaced where nothing is trained": (
        "p = scores[:, 0].masked_fill(~allowed, -1e9).softmax(1)",
        "h = (p * p.detach().log().masked_fill(~allowed, 0)).sum(); loss = h",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_logarithm_of_masked_probabilities_is_told(name: str, tmp_path: Path) -> None:
    first, second, edit = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(lines=f"{first}\n    {second}"))
    (finding,) = [f for f in report.findings if f.code == "log-of-zero"]
    assert [fix.message for fix in finding.fixes if fix.checked] == [f"`{edit}`"]


@pytest.mark.parametrize("name", RIGHT)
def test_logarithms_above_zero_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(lines="\n    ".join(RIGHT[name])))
    assert "log-of-zero" not in [f.code for f in report.findings]
