"""Warm-ups that a floor division makes 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
warmup, total, base_lr = 20, 100, 0.1


def step_once(step=0):
    optimizer.zero_grad()
    model(torch.randn(4, 6)).square().mean().backward()
    optimizer.step()


"""
WRONG = {
    "a function": (
        "def factor(step):\n"
        "    if step < warmup:\n"
        "        return step // warmup\n"
        "    return 1.0\n\n\n"
        "LambdaLR(optimizer, factor)\n",
        "`step / warmup`",
    ),
    "a lambda": (
        "LambdaLR(optimizer, lr_lambda=lambda s: min(1.0, (s + 1) // warmup))\n",
        "`(s + 1) / warmup`",
    ),
    "under a condition": (
        "first = 20\n"
        "LambdaLR(optimizer, lambda s: float(s // first) if s < first else 1.0)\n",
        "`s / first`",
    ),
    "a function within": (
        "def build(optimizer, n_first):\n"
        "    def rate(step: int):\n"
        "        if step < n_first:\n"
        "            return float(step) // float(max(1, n_first))\n"
        "        elif step <= total:\n"
        "            return step // total\n"
        "        return 1.0\n"
        "    return LambdaLR(optimizer, [rate])\n\n\n"
        "build(optimizer, 10)\n",
        "`step / total`",
    ),
    "a group": (
        "for step in range(50):\n"
        "    if step < warmup:\n"
        "        for group in optimizer.param_groups:\n"
        "            group['lr'] = base_lr * ((step + 1) // warmup)\n"
        "    step_once()\n",
        "`(step + 1) / warmup`",
    ),
    "a rate that is written": (
        "def get_rate(step):\n"
        "    return base_lr * step // warmup if step < warmup else base_lr\n\n\n"
        "for step in range(50):\n"
        "    lr = get_rate(step)\n"
        "    for group in optimizer.param_groups:\n"
        "        group['lr'] = get_rate(step)\n"
        "    step_once()\n",
        "`base_lr * step / warmup`",
    ),
    "a scheduler of its own": (
        "class Warm(torch.optim.lr_scheduler.LRScheduler):\n"
        "    def get_lr(self):\n"
        "        return [r * (self.last_epoch // warmup) for r in self.base_lrs]\n\n\n"
        "Warm(optimizer)\n",
        "`self.last_epoch / warmup`",
    ),
}
RIGHT = {
    "divided": "LambdaLR(optimizer, lambda s: min(1.0, s / warmup))\n",
    "steps down": "LambdaLR(optimizer, lambda e: 0.1 ** (e // 30))\n",
    "steps up": "LambdaLR(optimizer, lambda e: 1 + e // 10)\n",
    "a count of stairs": "LambdaLR(optimizer, lambda e: (e // 5) / 10)\n",
    "a number of steps": (
        "epochs = 5\n"
        "warmup_epochs = total // warmup\n"
        "LambdaLR(optimizer, lambda s: min(1.0, s / warmup_epochs))\n"
    ),
    "of another function": (
        "def progress(step):\n"
        "    return step // warmup\n\n\n"
        "LambdaLR(optimizer, lambda s: 0.9 ** s)\n"
        "progress(3)\n"
    ),
    "chosen from a list": (
        "rates = [1.0, 0.1, 0.01]\n"
        "LambdaLR(optimizer, lambda e: rates[min(2, e // warmup)])\n"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_floored_factor_is_reported(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT + body).findings
    finding = next(f for f in findings if f.code == "floored-factor")
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", RIGHT)
def test_another_floor_division_is_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "floored-factor" not in {f.code for f in findings}


POSITIONS = """\
import math

import torch
from torch import nn

dim = 64
half = dim // 2
steps = torch.arange(0, dim, 2).float()
table = torch.nn.Parameter(torch.zeros(10, dim // 2))
"""
ROUNDED = {
    "a quotient": (
        "freq = torch.exp(steps * (-math.log(10000.0) / dim // 2))\n",
        "`-math.log(10000.0) / (dim // 2)`",
    ),
    "a name": (
        "scale = math.log(10000.0) / dim // 2\nfreq = torch.exp(steps * -scale)\n",
        "`math.log(10000.0) / (dim // 2)`",
    ),
    "a logarithm": (
        "freq = torch.exp(steps * -(math.log(10000.0) // (half - 1)))\n",
        "`math.log(10000.0) / (half - 1)`",
    ),
}
EXACT = {
    "parentheses": "freq = torch.exp(steps * (-math.log(10000.0) / (dim // 2)))\n",
    "levels": "levels = math.log(dim) / math.log(2) // 2\n",
    "levels of an exponent": "side = math.exp(math.log(2) * (math.log(dim) // 1))\n",
    "another base": "side = math.exp(math.log(dim) // math.log(2))\n",
    "not an exponent": "width = math.log(10000.0) / dim // 2\n",
}


@pytest.mark.parametrize("name", ROUNDED)
def test_rounded_logarithms_are_reported(tmp_path: Path, name: str) -> None:
    body, edit = ROUNDED[name]
    findings = rehearsed(tmp_path, POSITIONS + body).findings
    (finding,) = [f for f in findings if f.code == "floored-factor"]
    assert [fix.message for fix in finding.fixes] == [edit]


@pytest.mark.parametrize("name", EXACT)
def test_exact_logarithms_are_not_reported(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, POSITIONS + EXACT[name]).findings
    assert "floored-factor" not in {f.code for f in findings}
