"""Columns, (N, 1), that meet rows, (N,), in what only a loss reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """
    import numpy as np
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    states, returns = torch.zeros(4, 16, 4), torch.zeros(4, 16)
    rewards, done = torch.zeros(4, 16), torch.zeros(4, 16, 1)
    for step in range(4):
        states[step] = torch.randn(16, 4)
        returns[step], rewards[step] = torch.randn(16), torch.randn(16)
    states, returns = states.reshape(-1, 4), returns.reshape(-1)
    rewards, done = rewards.reshape(-1), done.reshape(-1, 1)
    critic = torch.nn.Linear(4, 1)
    actor = torch.nn.Linear(4, 2)
    parameters = [*critic.parameters(), *actor.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    order = np.arange(64)
    for epoch in range(3):
        np.random.shuffle(order)
        for start in range(0, 64, 16):
            mb = order[start : start + 16]
            value = critic(states[mb])
            log_prob = actor(states[mb]).log_softmax(1)[:, 0]
"""
TAIL = """
            optimizer.zero_grad()
            (loss + log_prob.mean()).backward()
            optimizer.step()
"""
WRONG = {
    "a mean of squares": "loss = ((value - returns[mb]) ** 2).mean()",
    "a half": "loss = 0.5 * (returns[mb] - value).pow(2).mean()",
    "a loss of torch": "loss = F.mse_loss(value, rewards[mb] * 0.5 + 0.1)",
    "targets of all": (
        "target = rewards[mb] + 0.9 * (1 - done[mb]) * value.detach()\n"
        "            loss = F.smooth_l1_loss(value, target)"
    ),
    "an advantage": (
        "gain = returns[mb] - value.detach()\n"
        "            gain = (gain - gain.mean()) / (gain.std() + 1e-8)\n"
        "            loss = value.mean() - (log_prob * gain).mean()"
    ),
}
RIGHT = {
    "rows": "loss = ((value.squeeze(1) - returns[mb]) ** 2).mean()",
    "columns": "loss = F.mse_loss(value, rewards[mb].unsqueeze(1))",
    "all pairs of scores": (
        "gaps = value - value.T\n"
        "            sign = (returns[mb][:, None] - returns[mb]).sign()\n"
        "            loss = F.softplus(-sign * gaps).mean()"
    ),
    "a column that is asked for": (
        "gaps = value.squeeze(1)[:, None] - returns[mb]\n"
        "            loss = (gaps**2).mean()"
    ),
    "weights of kernels": (
        "near = torch.exp(-((value - returns[mb]) ** 2))\n"
        "            guess = (near * rewards[mb]).sum(1) / near.sum(1)\n"
        "            loss = F.mse_loss(guess, rewards[mb])"
    ),
    "distances to a support": (
        "support = torch.linspace(-1, 1, 16)\n"
        "            loss = (value - support).abs().min(dim=1).values.mean()"
    ),
    "distances to all of a support": (
        "support = torch.linspace(-1, 1, 16)\n"
        "            loss = (value - support).abs().mean()"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_pairs_of_all_samples_are_found(name: str, tmp_path: Path) -> None:
    text = HEAD + "            " + WRONG[name] + TAIL
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == ["outer-broadcast"]


@pytest.mark.parametrize("name", RIGHT)
def test_pairs_that_are_meant_are_quiet(name: str, tmp_path: Path) -> None:
    text = HEAD + "            " + RIGHT[name] + TAIL
    assert rehearsed(tmp_path, text).findings == ()
