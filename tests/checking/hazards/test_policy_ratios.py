"""Ratios of clipped policy objectives, and the limits around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.distributions import Categorical

actor = nn.Linear(4, 3)
optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
states, old, adv = torch.randn(16, 4), torch.randn(16), torch.randn(16)
actions, eps = torch.randint(3, (16,)), 0.2
for step in range(3):
    new = Categorical(logits=actor(states)).log_prob(actions)
    ratio = {ratio}
    clipped = {clipped}
    loss = -torch.min(ratio * adv, clipped * adv).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CLIPPED = "torch.clamp(ratio, 1 - eps, 1 + eps)"
WRONG = {
    "around 0": (
        "(new - old).exp()", "ratio.clamp(-eps, eps)",
        "optimistic-bound", "`1 - eps` and `1 + eps` as the limits",
    ),
    "around 0, by keywords": (
        "(new - old).exp()", "torch.clamp(ratio, min=-eps, max=eps)",
        "optimistic-bound", "`1 - eps` and `1 + eps` as the limits",
    ),
    "a difference": (
        "new - old", CLIPPED, "optimistic-bound", "`torch.exp(new - old)`",
    ),
    "a quotient": (
        "new / old", CLIPPED, "reversed-policy", "`torch.exp(new - old)`",
    ),
    "the old one first": (
        "torch.exp(old - new)", CLIPPED, "reversed-policy", "`new - old`",
    ),
}  # fmt: skip
RIGHT = {
    "a ratio": ("torch.exp(new - old)", CLIPPED),
    "a quotient of probabilities": ("new.exp() / old.exp()", CLIPPED),
    "an upper limit": ("torch.exp(new - old)", "ratio.clamp(max=1.0)"),
    "wide limits": ("torch.exp((new - old).clamp(-20, 20))", CLIPPED),
    "limits of a difference": ("(new - old).clamp(-0.2, 0.2).exp()", CLIPPED),
    "a divergence": (
        "torch.exp(new - old)",
        CLIPPED + "\n    back = (old - new).exp()",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_ratio_that_is_none_is_found(name: str, tmp_path: Path) -> None:
    ratio, clipped, code, edit = WRONG[name]
    text = SCRIPT.format(ratio=ratio, clipped=clipped)
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == [code]
    assert findings[0].fixes[0].message == edit
    assert findings[0].fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_other_ratios_are_quiet(name: str, tmp_path: Path) -> None:
    ratio, clipped = RIGHT[name]
    text = SCRIPT.format(ratio=ratio, clipped=clipped)
    assert rehearsed(tmp_path, text).findings == ()
