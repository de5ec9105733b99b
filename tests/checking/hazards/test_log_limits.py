"""Limits behind a logarithm that belong before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import math

import torch
from torch import nn

x = torch.rand(4, 8)
EPS = 1e-8


"""
WRONG = {
    "a method": ("torch.log(x).clamp(min=1e-5)", "`torch.log(x.clamp(min=1e-5))`"),
    "a method of a sum": (
        "torch.log10(x + x).clamp(min=1e-5)",
        "`torch.log10((x + x).clamp(min=1e-5))`",
    ),
    "two methods": ("x.pow(2).log().clamp_min(EPS)", "`x.pow(2).clamp_min(EPS).log()`"),
    "a function": ("torch.clamp(torch.log(x), EPS)", "`torch.log(x.clamp(EPS))`"),
    "in a model, in two steps": (
        "class Front(nn.Module):\n"
        "    def __init__(self, eps=1e-6):\n"
        "        super().__init__()\n"
        "        self.eps = eps\n"
        "        self.fc = nn.Linear(8, 4)\n\n"
        "    def forward(self, x):\n"
        "        bands = torch.log(self.fc(x).square())\n"
        "        bands = bands.unsqueeze(1).clamp(min=self.eps)\n"
        "        return bands\n\n\n"
        "Front()(x)",
        "",
    ),
}
RIGHT = {
    "before it": "torch.log(x.clamp(min=1e-5))",
    "at its logarithm": "torch.log(x).clamp(min=math.log(1e-5))",
    "at zero": "torch.log(x).clamp(min=0.0)",
    "at a floor": "torch.log(x).clamp(min=-11.5)",
    "a large limit": "torch.log(x).clamp(min=0.5)",
    "of one more": "torch.log(1 + x).clamp(min=1e-6)",
    "log1p": "torch.log1p(x).clamp(min=1e-6)",
    "of counts": "torch.log(torch.randint(1, 9, (4,)).float()).clamp(min=1e-6)",
    "of a ratio": "torch.log(x / x.mean(0)).clamp(min=1e-6)",
    "a divisor": "x / torch.log(x.sum(1, keepdim=True)).clamp(min=1e-6)",
    "one divided": "1 / torch.log(x.sum(1)).clamp(min=1e-6)",
    "the other sign": "(-torch.log(x)).clamp(min=1e-6)",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_limit_behind_a_logarithm_is_reported(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body + "\n").findings
    finding = next(f for f in findings if f.code == "limit-after-log")
    assert [fix.message for fix in finding.fixes] == ([edit] if edit else [])


@pytest.mark.parametrize("name", RIGHT)
def test_other_limits_are_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n").findings
    assert "limit-after-log" not in {f.code for f in findings}
