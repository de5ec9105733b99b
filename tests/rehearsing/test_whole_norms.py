"""`x / x.norm()` of a batch of vectors, whose products are taken for cosines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

query, item = nn.Linear(6, 8), nn.Linear(5, 8)
optimizer = torch.optim.SGD([*query.parameters(), *item.parameters()], lr=0.1)


def unit(x):
    return {unit}


for step in range(3):
    a, b = query(torch.randn(16, 6)), item(torch.randn(16, 5))
    {use}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PAIRS = "loss = F.cross_entropy(unit(a) @ unit(b).T / 0.1, torch.arange(16))"
WRONG = {
    "pairs": ("x / x.norm()", PAIRS, "`x.norm(dim=-1, keepdim=True)`"),
    "a limit": (
        "x / x.norm().clamp(min=1e-8)",
        PAIRS,
        "`x.norm(dim=-1, keepdim=True)`",
    ),
    "of torch": (
        "x / (torch.norm(x) + 1e-8)",
        PAIRS,
        "`torch.norm(x, dim=-1, keepdim=True)`",
    ),
    "linalg": (
        "x / torch.linalg.norm(x)",
        PAIRS,
        "`torch.linalg.norm(x, dim=-1, keepdim=True)`",
    ),
    "by hand": (
        "x / x.pow(2).sum().sqrt()",
        PAIRS,
        "`x.pow(2).sum(dim=-1, keepdim=True)`",
    ),
    "one for each pair": (
        "x / x.norm()",
        "loss = (1 - (unit(a) * unit(b)).sum(-1)).mean()",
        "`x.norm(dim=-1, keepdim=True)`",
    ),
    "both views": (
        "x / x.norm()",
        "z = unit(torch.cat([a, b])); sims = z @ z.t()\n"
        "    sims = sims.masked_fill(torch.eye(32, dtype=torch.bool), -1e9)\n"
        "    loss = F.cross_entropy(sims, (torch.arange(32) + 16) % 32)",
        "`x.norm(dim=-1, keepdim=True)`",
    ),
    "einsum": (
        "x / x.norm()",
        "loss = F.cross_entropy(torch.einsum('nd,md->nm', unit(a), unit(b)),"
        " torch.arange(16))",
        "`x.norm(dim=-1, keepdim=True)`",
    ),
}
RIGHT = {
    "each": ("x / x.norm(dim=-1, keepdim=True)", PAIRS),
    "normalize": ("F.normalize(x, dim=-1)", PAIRS),
    "features": (
        "x / x.norm()",
        "c = unit(a).T @ unit(b); loss = -c.diagonal().mean()",
    ),
    "no products": ("x / x.norm()", "loss = F.mse_loss(unit(a), unit(b))"),
    "weights": (
        "x / x.norm()",
        "w = unit(query.weight); loss = (w @ w.T).square().mean() + (a + b).mean()",
    ),
    "a head": (
        "x / x.norm()",
        "loss = F.linear(unit(a), query.weight.T).mean() + b.mean()",
    ),
    "one vector": ("x / x.norm()", "loss = (unit(a[0]) * unit(b[0])).sum(-1)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_norm_of_all_rows_is_told(case: str, tmp_path: Path) -> None:
    unit, use, fix = WRONG[case]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(unit=unit, use=use)).findings
    assert finding.code == "batch-dependence"
    assert [each.message for each in finding.fixes if each.checked] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_other_norms_are_quiet(case: str, tmp_path: Path) -> None:
    unit, use = RIGHT[case]
    findings = rehearsed(tmp_path, SCRIPT.format(unit=unit, use=use)).findings
    assert "batch-dependence" not in {each.code for each in findings}
