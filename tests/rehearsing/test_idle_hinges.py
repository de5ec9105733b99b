"""Hinges that are zero for every input: margins of distances for similarities."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import argparse
import torch
from torch import nn
import torch.nn.functional as F

MARGIN = 1.0


class Pairs(nn.Module):
    def __init__(self, margin_pos=0.0, margin_neg=1.0, factor=0):
        super().__init__()
        self.margin_pos = margin_pos
        self.margin_neg = margin_neg
        self.factor = factor

    def forward(self, s, same):
        near = F.relu(self.margin_pos - s[same])
        far = torch.clamp(s[~same] - self.margin_neg, min=0)
        return near.mean() + far.mean()


model = nn.Linear(6, 8)
score = nn.Linear(6, 1)
optimizer = torch.optim.SGD([*model.parameters(), *score.parameters()], lr=0.1)
{before}
for step in range(3):
    x, y = torch.randn(12, 6), torch.randn(12, 6)
    labels = torch.randint(0, 2, (12,))
    same = labels[:, None] == labels[None, :]
    a, b = F.normalize(model(x), dim=1), F.normalize(model(y), dim=1)
    far = (a - b).norm(dim=1)
    p = torch.sigmoid(score(x))
{loss}
    loss = loss + F.mse_loss(model(x), torch.randn(12, 8)) + score(x).mean() ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
OTHER = "`margin_pos=1.0, margin_neg=0.0`"
WRONG = {
    "defaults": ("pairs = Pairs()", "loss = pairs(a @ b.t(), same)", OTHER),
    "named": (
        "pairs = Pairs(margin_pos=0.0, margin_neg=1.0)",
        "loss = pairs(a @ b.t(), same)",
        OTHER,
    ),
    "another argument": (
        "pairs = Pairs(factor=2)",
        "loss = pairs(torch.mm(a, b.transpose(0, 1)), same)",
        OTHER,
    ),
    "einsum": (
        "",
        "s = torch.einsum('nd,md->nm', a, b)\nloss = F.relu(s[~same] - MARGIN).mean()",
        None,
    ),
    "cosines": (
        "",
        "s = F.cosine_similarity(model(x), model(y))\n"
        "loss = (s - 1).clamp(min=0).sum()",
        None,
    ),
    "a distance": ("", "loss = F.relu(-far).mean()", None),
    "probabilities": (
        "",
        "loss = torch.max(p - MARGIN, torch.zeros_like(p)).mean()",
        None,
    ),
    "logarithms": ("", "loss = F.relu(F.log_softmax(model(x), 1)).mean()", None),
    "pairs": (
        "criterion = nn.CosineEmbeddingLoss(margin=1.0)",
        "loss = criterion(model(x), model(y), 2.0 * (labels == 1) - 1)",
        "`margin=0.0`",
    ),
}
RIGHT = {
    "margins of cosines": ("pairs = Pairs(1.0, 0.0)", "loss = pairs(a @ b.t(), same)"),
    "margins of distances": ("", "loss = F.relu(MARGIN - far[labels == 0]).mean()"),
    "a smaller margin": ("", "loss = F.relu((a @ b.t())[~same] - 0.5).mean()"),
    "along the batch": (
        "",
        "c = F.normalize(model(x), dim=0)\nloss = F.relu(c @ c.t() - MARGIN).mean()",
    ),
    "a number of the data": (
        "",
        "limit = (a @ b.t()).diagonal().mean().item()\n"
        "loss = F.relu((a @ b.t())[~same] - limit).mean()",
    ),
    "a tensor": (
        "limit = torch.tensor(1.0, requires_grad=True)",
        "loss = F.relu(a @ b.t() - limit).mean()",
    ),
    "not of unit length": ("", "loss = F.relu(model(x) @ b.t() - MARGIN).mean()"),
    "limits of cosines": ("", "loss = (a @ b.t()).clamp(-1 + 1e-7, 1 - 1e-7).mean()"),
    "limits of probabilities": ("", "loss = -p.clamp(1e-7, 1 - 1e-7).log().mean()"),
    "a sine": ("", "c = (a * b).sum(1)\nloss = (1 - c ** 2).clamp(min=0).mean()"),
    "switched off": ("", "loss = F.relu(p * 0).mean()"),
    "without a gradient": (
        "",
        "idle = F.relu(a.detach() @ b.detach().t() - MARGIN)\nloss = idle.mean()",
    ),
    "not in a loss": ("", "idle = F.relu(p - MARGIN)\nloss = p.mean()"),
    "a small margin": (
        "criterion = nn.CosineEmbeddingLoss(margin=0.5)",
        "loss = criterion(model(x), model(y), 2.0 * (labels == 1) - 1)",
    ),
    "all alike": (
        "criterion = nn.CosineEmbeddingLoss(margin=1.0)",
        "loss = criterion(model(x), model(y), torch.ones(12))",
    ),
}


def write_script(before: str, loss: str) -> str:
    return SCRIPT.replace("{before}", before).replace("{loss}", indent(loss, "    "))


@pytest.mark.parametrize("name", WRONG)
def test_a_hinge_that_is_always_zero_is_found(name: str, tmp_path: Path) -> None:
    before, loss, fix = WRONG[name]
    report = rehearsed(tmp_path, write_script(before, loss))
    assert report.complete, report
    (finding,) = report.findings
    assert finding.code == "term-without-graph"
    assert "nothing" in finding.message
    checked = [edit.message for edit in finding.fixes if edit.checked]
    assert checked == ([fix] if fix is not None else [])


@pytest.mark.parametrize("name", RIGHT)
def test_other_limits_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_script(*RIGHT[name]))
    assert report.complete, report
    assert "term-without-graph" not in [each.code for each in report.findings]
