"""Terms of a loss that are computed where torch records no graph."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import copy
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
reference = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters())

{function}
for _ in range(3):
    x, y = torch.rand(8, 6), torch.randint(0, 3, (8,))
    scores = model(x)
    loss = F.cross_entropy(scores, y)
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PENALTY = """\
@torch.no_grad()
def weigh(net):
    return sum(p.pow(2).sum() for p in net.parameters())
"""
WRONG = {
    "a divergence": (
        "",
        "with torch.no_grad():\n"
        "    old = reference(x)\n"
        "    kl = ((scores - old) ** 2).mean(1)\n"
        "loss = loss + 0.5 * kl.mean()",
        "`kl = ((scores - old) ** 2).mean(1)` outside of `torch.no_grad()`",
    ),
    "an entropy": (
        "",
        "with torch.no_grad():\n"
        "    entropy = -(scores.softmax(1) * scores.log_softmax(1)).sum(1).mean()\n"
        "loss -= 0.01 * entropy",
        "without `with torch.no_grad():`",
    ),
    "a penalty of weights": (
        PENALTY, "loss = loss + 1e-3 * weigh(model)", "without `@torch.no_grad()`",
    ),
}  # fmt: skip
RIGHT = {
    "the reference alone": (
        "with torch.no_grad():\n    old = reference(x)\n"
        "loss = loss + 0.5 * ((scores - old) ** 2).mean()"
    ),
    "a number that is shown": (
        "with torch.no_grad():\n    right = (scores.argmax(1) == y).float().mean()\n"
        "print(right)"
    ),
    "a weight of the loss": (
        "with torch.no_grad():\n    sure = scores.softmax(1).max(1)[0].mean()\n"
        "loss = loss * sure"
    ),
    "the largest score": (
        "with torch.no_grad():\n    top = scores.max(1)[0]\n"
        "spread = (scores - top[:, None]).exp().sum(1).log() + top\n"
        "loss = loss + 0.1 * spread.mean()"
    ),
    "a zero of its kind": (
        "with torch.no_grad():\n    extra = scores.new_zeros(())\nloss = loss + extra"
    ),
    "straight through": (
        "with torch.no_grad():\n    step = scores.round() - scores\n"
        "loss = loss + F.mse_loss(scores + step, torch.zeros(8, 3))"
    ),
    "another loss as it is": (
        "old = F.cross_entropy(reference(x), y)\nloss = loss - old"
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_term_without_a_graph_is_found(case: str, tmp_path: Path) -> None:
    function, body, fix = WRONG[case]
    text = HEAD.format(function=function, body=indent(body, "    "))
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == ["term-without-graph"]
    assert [edit.message for edit in findings[0].fixes][:1] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_what_needs_no_graph_is_right(case: str, tmp_path: Path) -> None:
    text = HEAD.format(function="", body=indent(RIGHT[case], "    "))
    codes = [finding.code for finding in rehearsed(tmp_path, text).findings]
    assert "term-without-graph" not in codes
