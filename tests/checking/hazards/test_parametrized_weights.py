"""Writes to weights that a parametrization computes anew for each use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils import weight_norm as old_weight_norm
from torch.nn.utils import spectral_norm as old_spectral_norm
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


class Turned(nn.Module):
    def forward(self, x):
        return x.view_as(x)


layer = nn.Linear(4, 4)
x = torch.randn(2, 4)
"""
WRONG = {
    "data": (
        "layer = weight_norm(layer)\nlayer.weight.data.normal_(0, 0.01)\nlayer(x)",
        "`layer.weight = layer.weight.data.normal_(0, 0.01)`",
    ),
    "init": (
        "layer = spectral_norm(layer)\nnn.init.xavier_uniform_(layer.weight)\nlayer(x)",
        "`layer.weight = nn.init.xavier_uniform_(layer.weight)`",
    ),
    "under no_grad": (
        "parametrize.register_parametrization(layer, 'weight', Symmetric())\n"
        "with torch.no_grad():\n    layer.weight.mul_(0.5)\nlayer(x)",
        "",
    ),
    "in a method": (
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = weight_norm(nn.Linear(4, 4))
        self.apply(self._init)

    def _init(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.fc(x)


Net()(x)""",
        "`module.weight = nn.init.normal_(module.weight, std=0.02)`",
    ),
    "the old function": (
        "layer = old_weight_norm(layer)\nlayer.weight.data.uniform_(-1, 1)\nlayer(x)",
        "",
    ),
}
RIGHT = {
    "before": "layer.weight.data.normal_(0, 0.01)\nlayer = weight_norm(layer)\n"
    "layer(x)",
    "given back": "layer = weight_norm(layer)\n"
    "layer.weight = layer.weight.data.normal_(0, 0.01)\nlayer(x)",
    "its parameters": "layer = weight_norm(layer)\n"
    "layer.parametrizations.weight.original1.data.normal_()\nlayer(x)",
    "its old parameters": "layer = old_weight_norm(layer)\n"
    "layer.weight_v.data.normal_()\nlayer(x)",
    "the old spectral norm": "layer = old_spectral_norm(layer)\n"
    "nn.init.orthogonal_(layer.weight)\nlayer(x)",
    "a view of the parameter": "parametrize.register_parametrization("
    "layer, 'weight', Turned(), unsafe=True)\n"
    "layer.weight.data.normal_()\nlayer(x)",
    "the bias": "layer = weight_norm(layer)\nnn.init.zeros_(layer.bias)\nlayer(x)",
    "a copy for itself": "layer = weight_norm(layer)\n"
    "w = layer.weight.detach()\nw.mul_(2)\ny = x @ w\nlayer(x)",
    "kept for the block": "layer = weight_norm(layer)\nwith parametrize.cached():\n"
    "    layer.weight.data.mul_(2)\n    layer(x)\nlayer(x)",
    "no weight after it": "layer = orthogonal(layer)\n"
    "parametrize.remove_parametrizations(layer, 'weight')\n"
    "layer.weight.data.normal_()\nlayer(x)",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_write_without_effect_is_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text + "\n")
    (finding,) = report.findings
    assert finding.code == "parametrized-write"
    assert [fix.message for fix in finding.fixes] == ([fix] if fix else [])


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n")
    codes = [finding.code for finding in report.findings]
    assert "parametrized-write" not in codes
