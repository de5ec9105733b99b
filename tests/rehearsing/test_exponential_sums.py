"""Logarithms of sums of exponentials that vanish together, and those that do not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import math

import torch
import torch.nn.functional as F
from torch import nn

x, target = torch.randn(32, 6), torch.randn(32, 1)
net = nn.Linear(6, 5)
means, widths = nn.Parameter(torch.randn(5)), nn.Parameter(torch.zeros(5))
centres = nn.Parameter(torch.randn(7, 6))
optimizer = torch.optim.SGD([*net.parameters(), means, widths, centres], lr=0.1)
log_weights = F.log_softmax(net(x), dim=1)
z = (target - means) / widths.exp()
density = -0.5 * z ** 2 - widths - 0.5 * math.log(2 * math.pi)
BODY
(loss + log_weights.mean() + density.mean() + centres.sum()).backward()
optimizer.step()
"""
WRONG = {
    "functions": (
        "loss = -torch.log(torch.exp(log_weights + density).sum(dim=1)).mean()",
        "`torch.logsumexp(log_weights + density, dim=1)`",
    ),
    "a function of a function": (
        "loss = -torch.log(torch.sum(torch.exp(log_weights + density), 1)).mean()",
        "`torch.logsumexp(log_weights + density, 1)`",
    ),
    "methods": (
        "loss = -(log_weights + density).exp().sum(-1).log().mean()",
        "`torch.logsumexp(log_weights + density, -1)`",
    ),
    "distances from centres": (
        """
        far = (x.unsqueeze(1) - centres).pow(2).sum(-1)
        loss = -torch.log(torch.exp(-far / 2).sum(1, keepdim=True)).mean()
        """,
        "`torch.logsumexp(-far / 2, 1, keepdim=True)`",
    ),
    "in two steps": (
        """
        powers = torch.exp(density + log_weights)
        loss = -torch.log(powers.sum(1)).mean()
        """,
        "",
    ),
    "limited means over a width that is trained": (
        """
        far = (target.sigmoid() - means.sigmoid()) / widths.exp()
        loss = -torch.log(torch.exp(-far ** 2 - widths).sum(1)).mean()
        """,
        "`torch.logsumexp(-far ** 2 - widths, 1)`",
    ),
    "a distribution": (
        """
        parts = torch.distributions.Normal(means, widths.exp()).log_prob(target)
        loss = -torch.log(torch.exp(parts + log_weights).sum(dim=1)).mean()
        """,
        "`torch.logsumexp(parts + log_weights, dim=1)`",
    ),
}


def told(folder: Path, body: str) -> list[list[str]]:
    """The checked edits of each finding on a logarithm of 0."""
    report = rehearsed(folder, SCRIPT.replace("BODY", dedent(body).strip()))
    assert report.complete
    return [
        [fix.message for fix in found.fixes if fix.checked]
        for found in report.findings
        if found.code == "log-of-zero"
    ]


@pytest.mark.parametrize(("body", "edit"), WRONG.values(), ids=WRONG)
def test_vanishing_sums_are_found(tmp_path: Path, body: str, edit: str) -> None:
    (edits,) = told(tmp_path, body)
    if edit:
        assert edits[0] == edit


RIGHT = {
    "logsumexp": "loss = -torch.logsumexp(log_weights + density, dim=1).mean()",
    "without the maximum": """
        both = log_weights + density
        most = both.max(dim=1, keepdim=True).values
        loss = -(torch.log(torch.exp(both - most).sum(1)) + most.squeeze(1)).mean()
    """,
    "limited": """
        both = (log_weights + density).clamp(min=-50)
        loss = -torch.log(torch.exp(both).sum(1)).mean()
    """,
    "a small number is added": """
        loss = -torch.log(torch.exp(log_weights + density).sum(1) + 1e-8).mean()
    """,
    "scores": "loss = torch.log(torch.exp(net(x)).sum(dim=1)).mean()",
    "similarities": """
        unit = F.normalize(net(x), dim=1)
        loss = torch.log(torch.exp(unit @ unit.T / 0.1).sum(dim=1)).mean()
    """,
    "distances within a batch": """
        rows = net(x)
        far = (rows[:, None] - rows[None]).pow(2).sum(-1)
        loss = torch.log(torch.exp(-far).sum(dim=1)).mean()
    """,
    "distances of unit vectors": """
        unit, other = F.normalize(net(x), dim=1), F.normalize(centres[:, :5], dim=1)
        far = (unit[:, None] - other).pow(2).sum(-1)
        loss = torch.log(torch.exp(-far).sum(dim=1)).mean()
    """,
    "squares that are added": """
        loss = torch.log(torch.exp(0.1 * z ** 2).sum(dim=1)).mean()
    """,
    "a softplus": "loss = torch.log(1 + torch.exp(-z ** 2)).mean()",
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_other_logarithms_are_left_alone(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []
