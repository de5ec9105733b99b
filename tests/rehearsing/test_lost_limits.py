"""Limits of probabilities that are 1 in float32."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

EPS = {eps}
layer = nn.Linear(6, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(2):
    y = torch.randint(0, 2, (8,)).float()
    p = torch.sigmoid(layer(torch.randn(8, 6))).squeeze(1)
    {rest}
    loss = -(y * torch.log(p + 1e-8) + (1 - y) * rest).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "a name": ("p = p.clamp(EPS, 1 - EPS); rest = torch.log(1 - p)", "1e-12", "`1e-6`"),
    "a literal": (
        "q = torch.clamp(p, 1e-9, 1.0 - 1e-9); rest = (1 - q).log()",
        "0",
        "`1e-6`",
    ),
    "a keyword": (
        "rest = torch.log(1.0 - p.clamp(max=0.9999999999))",
        "0",
        "`1 - 1e-6`",
    ),
    "more than one": ("rest = torch.log(1 + EPS - p)", "1e-10", "`1e-6`"),
}
RIGHT = {
    "seen": ("p = p.clamp(EPS, 1 - EPS); rest = torch.log(1 - p)", "1e-6"),
    "doubles": (
        "p = p.double().clamp(EPS, 1 - EPS); rest = torch.log(1 - p)",
        "1e-12",
    ),
    "added last": ("rest = torch.log(1 - p + EPS)", "1e-12"),
    "a limit of the rest": ("rest = torch.log((1 - p).clamp(min=EPS))", "1e-12"),
    "no logarithm": ("rest = 1 - p.clamp(EPS, 1 - EPS)", "1e-12"),
}


def find_limits(folder: Path, rest: str, eps: str) -> list[Finding]:
    report = rehearsed(folder, SCRIPT.format(rest=rest, eps=eps))
    assert report.complete
    return [each for each in report.findings if each.code == "log-of-zero"]


@pytest.mark.parametrize("case", WRONG)
def test_a_limit_that_is_lost_is_told(case: str, tmp_path: Path) -> None:
    rest, eps, fix = WRONG[case]
    (finding,) = find_limits(tmp_path, rest, eps)
    assert [each.message for each in finding.fixes if each.checked] == [fix]


@pytest.mark.parametrize("case", RIGHT)
def test_limits_with_an_effect_are_quiet(case: str, tmp_path: Path) -> None:
    assert not find_limits(tmp_path, *RIGHT[case])
