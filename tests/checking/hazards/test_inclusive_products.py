"""Opacities that are multiplied by a cumulative product which includes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

net = nn.Linear(3, 1)
points, delta = torch.rand(6, 10, 3), torch.full((6, 10), 0.1)
sigma = F.softplus(net(points)).squeeze(-1)
alpha = 1 - torch.exp(-sigma * delta)
"""
WRONG = {
    "a product": (
        "weights = alpha * torch.cumprod(1 - alpha + 1e-10, dim=-1)",
        "`torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha + 1e-10],"
        " dim=-1), dim=-1)[..., :-1]`",
    ),
    "a method": (
        "seen = (1.0 - alpha).clamp(min=1e-6).cumprod(1)\nweights = seen * alpha",
        "`torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]),"
        " (1.0 - alpha).clamp(min=1e-6)], dim=1), dim=1)[..., :-1]`",
    ),
    "what is left": (
        "left = torch.exp(-sigma * delta)\n"
        "weights = (1 - left) * torch.cumprod(left, -1)",
        "`torch.cumprod(torch.cat([torch.ones_like(left[..., :1]), left], dim=-1),"
        " dim=-1)[..., :-1]`",
    ),
    "a sum of densities": (
        "depth = sigma * delta\n"
        "opacity = 1 - torch.exp(-depth)\n"
        "weights = opacity * torch.exp(-torch.cumsum(depth, dim=1))",
        "`(torch.cumsum(depth, dim=1) - depth)`",
    ),
    "with a dim behind": (
        "seen = torch.cumprod(1 - alpha, 1)[..., None]\nw = alpha.unsqueeze(-1) * seen",
        "`torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha], dim=1),"
        " dim=1)[..., :-1]`",
    ),
}
RIGHT = {
    "a leading one": "ones = torch.ones_like(alpha[:, :1])\n"
    "t = torch.cumprod(torch.cat([ones, 1 - alpha + 1e-10], 1), 1)[:, :-1]\n"
    "weights = alpha * t",
    "shifted": "t = torch.cumprod(1 - alpha, 1)\nweights = alpha[:, 1:] * t[:, :-1]",
    "rolled": "t = torch.roll(torch.cumprod(1 - alpha, 1), 1, 1)\nt[:, 0] = 1\n"
    "weights = alpha * t",
    "divided": "weights = alpha * (torch.cumprod(1 - alpha, 1) / (1 - alpha))",
    "the sum without its own": "depth = sigma * delta\n"
    "opacity = 1 - torch.exp(-depth)\n"
    "weights = opacity * torch.exp(-(torch.cumsum(depth, 1) - depth))",
    "of other samples": "t = torch.cumprod(1 - alpha, 1)\n"
    "weights = t * torch.rand(6, 10)",
    "a schedule": "betas = torch.linspace(0.1, 0.2, 10)\n"
    "weights = betas * torch.cumprod(1 - betas, 0)",
    "a survival of the last": "alive = torch.cumprod(1 - alpha, 1)[:, -1]\n"
    "loss = (alive * alpha[:, -1]).mean()",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_product_that_includes_the_sample_is_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text + "\n")
    (finding,) = report.findings
    assert finding.code == "inclusive-transmittance"
    assert [fix.message for fix in finding.fixes] == [fix]


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n")
    codes = [finding.code for finding in report.findings]
    assert "inclusive-transmittance" not in codes
