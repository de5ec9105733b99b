"""Clipped policy objectives: which of two surrogates is their bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.distributions import Categorical

actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=1e-3)
states, returns, old = torch.randn(16, 4), torch.randn(16), torch.randn(16)
adv, mask, eps = torch.randn(16), torch.ones(16), 0.2
actions = torch.randint(3, (16,))
old_values = torch.randn(16)
for step in range(3):
    dist = Categorical(logits=actor(states))
    values = critic(states).squeeze(-1)
    ratio = torch.exp(dist.log_prob(actions) - old)
    clipped = torch.clamp(ratio, 1 - eps, 1 + eps)
    {loss}
    loss = loss + 0.5 * (values - returns).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "min of negated": (
        "loss = torch.min(-ratio * adv, -clipped * adv).mean()",
        "`torch.max(-ratio * adv, -clipped * adv)`",
    ),
    "negated advantages": (
        "loss = torch.minimum(ratio * -adv, -adv * clipped).mean()",
        "`torch.maximum(ratio * -adv, -adv * clipped)`",
    ),
    "a method": (
        "a, b = -(ratio * adv), -(clipped * adv); loss = a.min(b).mean()",
        "`a.max(b)`",
    ),
    "times minus one": (
        "a, b = -1 * ratio * adv, -1 * clipped * adv; "
        "loss = (torch.min(a, b) * mask).sum() / mask.sum()",
        "`torch.max(a, b)`",
    ),
    "max of both": (
        "loss = -torch.max(ratio * adv, clipped * adv).mean()",
        "`torch.min(ratio * adv, clipped * adv)`",
    ),
    "max of both, negated later": (
        "objective = torch.maximum(adv * ratio, adv * clipped).mean(); "
        "loss = -1.0 * objective",
        "`torch.minimum(adv * ratio, adv * clipped)`",
    ),
    "without a minus": (
        "loss = torch.min(ratio * adv, clipped * adv).mean()",
        "`-torch.min(ratio * adv, clipped * adv)`",
    ),
}
RIGHT = {
    "min of both": "loss = -torch.min(ratio * adv, clipped * adv).mean()",
    "max of negated": "loss = torch.max(-ratio * adv, -clipped * adv).mean()",
    "negated at the end": "s = torch.min(ratio * adv, clipped * adv).mean(); loss = -s",
    "negated rows": "loss = (-torch.min(ratio * adv, clipped * adv) * mask).mean()",
    "costs": "loss = torch.max(ratio * adv, clipped * adv).mean()",
    "stacked": "loss = -torch.stack([ratio * adv, clipped * adv]).min(0)[0].mean()",
    "two bounds": (
        "low = torch.min(ratio * adv, clipped * adv); "
        "loss = -torch.where(adv < 0, torch.max(low, 3 * adv), low).mean()"
    ),
    "clipped values": (
        "v = old_values + (values - old_values).clamp(-eps, eps); "
        "loss = torch.max((values - returns) ** 2, (v - returns) ** 2).mean()"
    ),
    "two critics": "loss = torch.min(values, 2 * values).mean()",
    "clipped values alone": "loss = -(clipped * adv).mean()",
}


@pytest.mark.parametrize("name", WRONG)
def test_the_better_surrogate_is_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", text))
    (finding,) = report.findings
    assert finding.code == "optimistic-bound"
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", RIGHT)
def test_a_pessimistic_bound_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", RIGHT[name]))
    codes = {finding.code for finding in report.findings}
    assert "optimistic-bound" not in codes


def test_an_objective_that_is_maximized_is_right(tmp_path: Path) -> None:
    text = SCRIPT.replace("lr=1e-3", "lr=1e-3, maximize=True")
    loss = "loss = torch.min(ratio * adv, clipped * adv).mean()"
    report = rehearsed(tmp_path, text.replace("{loss}", loss))
    assert "optimistic-bound" not in {finding.code for finding in report.findings}
