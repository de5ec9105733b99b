"""Policy losses: advantages with the critic's graph, entropies that are minimized."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.distributions import Categorical, Normal

torch.manual_seed(0)
actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
log_std = nn.Parameter(torch.zeros(3))
parameters = [*actor.parameters(), *critic.parameters(), log_std]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for step in range(3):
    states, returns = torch.randn(16, 4), torch.randn(16)
    old = torch.randn(16)
    logits = actor(states)
    values = critic(states).squeeze(-1)
    dist = Categorical(logits=logits)
    actions = dist.sample()
    log_probs = dist.log_prob(actions)
    advantage = returns - values
    fixed = advantage.detach()
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WITH_GRAPH = {
    "a square": "loss = -(log_probs * advantage).mean() + advantage.pow(2).mean()",
    "mse": "loss = -(advantage * log_probs).sum() + F.mse_loss(values, returns)",
    "huber": (
        "policy = (-log_probs * advantage).mean(); "
        "loss = policy + 0.5 * F.smooth_l1_loss(values, returns)"
    ),
    "scaled": (
        "a = (advantage - advantage.mean()) / (advantage.std() + 1e-8); "
        "loss = F.mse_loss(values, returns) - (log_probs * a).mean()"
    ),
    "a ratio": (
        "ratio = (log_probs - old).exp(); "
        "surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage); "
        "loss = -surrogate.mean() + ((values - returns) ** 2).mean()"
    ),
    "by cross entropy": (
        "p = F.cross_entropy(logits, actions, reduction='none'); "
        "loss = (p * advantage).mean() + F.mse_loss(values, returns)"
    ),
    "added up": (
        "loss = torch.zeros(()); loss += -(log_probs * advantage).mean(); "
        "loss += F.mse_loss(values, returns)"
    ),
}
WITHOUT_GRAPH = {
    "detached": "loss = -(log_probs * fixed).mean() + advantage.pow(2).mean()",
    "no loss of its own": "loss = -(log_probs * advantage).mean() + values.sum() * 0",
    "no values": "loss = -(log_probs * returns).mean() + F.mse_loss(values, returns)",
    "only the critic": "loss = advantage.pow(2).mean() - log_probs.mean()",
    "an expected value": (
        "probs = logits.softmax(-1); q = critic(states); "
        "loss = -(probs * (returns[:, None] - q)).mean() + F.mse_loss(values, returns)"
    ),
    "a focal loss": (
        "p = log_probs.exp(); "
        "loss = -((1 - p) ** 2 * log_probs).mean() + F.mse_loss(values, returns)"
    ),
}
MINIMIZED = {
    "beside a critic": (
        "loss = -(log_probs * fixed).mean() + F.mse_loss(values, returns)"
        " + 0.01 * dist.entropy().mean()"
    ),
    "a negative coefficient": (
        "loss = -(log_probs * fixed).mean() - (-0.01) * dist.entropy().mean()"
    ),
    "a negative sum": (
        "loss = -((log_probs * fixed).mean() - 0.01 * dist.entropy().mean())"
    ),
    "for each sample": ("loss = (-log_probs * fixed + 0.01 * dist.entropy()).mean()"),
    "written out": (
        "p, log_p = logits.softmax(-1), logits.log_softmax(-1); "
        "entropy = -(p * log_p).sum(-1).mean(); "
        "loss = -(log_probs * fixed).mean() + 0.01 * entropy"
    ),
    "a normal distribution": (
        "dist = Normal(logits, log_std.exp()); x = dist.sample(); "
        "log_prob = dist.log_prob(x).sum(-1); "
        "loss = -(log_prob * fixed).mean() + 0.01 * dist.entropy().sum(-1).mean()"
    ),
    "a clipped ratio": (
        "ratio = (log_probs - old).exp(); entropy = dist.entropy().mean(); "
        "policy = torch.max(-fixed * ratio, -fixed * ratio.clamp(0.8, 1.2)).mean(); "
        "loss = policy + 0.01 * entropy"
    ),
}
MAXIMIZED = {
    "subtracted": ("loss = -(log_probs * fixed).mean() - 0.01 * dist.entropy().mean()"),
    "in a negative sum": (
        "loss = -((log_probs * fixed).mean() + 0.01 * dist.entropy().mean())"
    ),
    "a negative factor": (
        "loss = -(log_probs * fixed).mean() + -0.01 * dist.entropy().mean()"
    ),
    "a loss of entropy": (
        "entropy_loss = -dist.entropy().mean(); "
        "loss = -(log_probs * fixed).mean() + 0.01 * entropy_loss"
    ),
    "written out": (
        "p, log_p = logits.softmax(-1), logits.log_softmax(-1); "
        "loss = -(log_probs * fixed).mean() + 0.01 * (p * log_p).sum(-1).mean()"
    ),
    "learning without labels": (
        "loss = F.cross_entropy(logits, actions) + 0.1 * dist.entropy().mean()"
    ),
    "a cost": "loss = (log_probs * fixed).mean() + 0.01 * dist.entropy().mean()",
    "a learned coefficient": (
        "loss = -(log_probs * fixed).mean() + log_std.sum() * dist.entropy().mean()"
    ),
    "another distribution": (
        "other = Categorical(logits=nn.Linear(4, 3)(states)); "
        "loss = -(log_probs * fixed).mean() + 0.1 * other.entropy().mean()"
    ),
    "a clipped ratio": (
        "ratio = (log_probs - old).exp(); entropy = dist.entropy().mean(); "
        "policy = torch.max(-fixed * ratio, -fixed * ratio.clamp(0.8, 1.2)).mean(); "
        "loss = policy - 0.01 * entropy"
    ),
    "a cross entropy of soft labels": (
        "goal = F.softmax(torch.rand_like(logits), -1); "
        "loss = -(goal * F.log_softmax(logits, -1)).sum(-1).mean()"
    ),
}


def codes(folder: Path, loss: str) -> list[str]:
    report = rehearsed(folder, SCRIPT.replace("{loss}", loss))
    assert report.complete, report.findings
    return [each.code for each in report.findings]


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_advantages_with_a_graph_are_found(name: str, tmp_path: Path) -> None:
    assert "advantage-with-graph" in codes(tmp_path, WITH_GRAPH[name])


@pytest.mark.parametrize("name", WITHOUT_GRAPH)
def test_other_products_are_quiet(name: str, tmp_path: Path) -> None:
    assert "advantage-with-graph" not in codes(tmp_path, WITHOUT_GRAPH[name])


@pytest.mark.parametrize("name", MINIMIZED)
def test_minimized_entropies_are_found(name: str, tmp_path: Path) -> None:
    assert codes(tmp_path, MINIMIZED[name]).count("minimized-entropy") == 1


@pytest.mark.parametrize("name", MAXIMIZED)
def test_other_entropies_are_quiet(name: str, tmp_path: Path) -> None:
    assert "minimized-entropy" not in codes(tmp_path, MAXIMIZED[name])


def test_both_have_an_edit(tmp_path: Path) -> None:
    text = SCRIPT.replace("{loss}", WITH_GRAPH["a square"])
    (finding,) = [
        each for each in rehearsed(tmp_path, text).findings
        if each.code == "advantage-with-graph"
    ]  # fmt: skip
    assert finding.fixes[0].checked
    assert finding.fixes[0].message == "`advantage.detach()`"
    text = SCRIPT.replace("{loss}", MINIMIZED["beside a critic"])
    (finding,) = [
        each for each in rehearsed(tmp_path, text).findings
        if each.code == "minimized-entropy"
    ]  # fmt: skip
    assert finding.fixes[0].checked
    assert "- 0.01 * dist.entropy().mean()" in finding.fixes[0].message


REVERSED = {
    "a sum": "loss = (log_probs * returns).sum()",
    "a mean": "loss = torch.mean(log_probs * returns)",
    "a ratio": (
        "adv = returns - 1; ratio = (log_probs - old).exp();"
        " loss = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()"
    ),
    "by index": (
        "p = logits.log_softmax(-1).gather(1, actions[:, None]).squeeze(1);"
        " loss = (p * returns).sum()"
    ),
}
MEANT = {
    "a minus": "loss = -(log_probs * returns).sum()",
    "a minus inside": "loss = (-log_probs * returns).sum()",
    "a minus later": "gain = (log_probs * returns).sum(); loss = -gain",
    "a cost": "cost = -returns; loss = (log_probs * cost).sum()",
    "returns of a cost": "returns = -returns; loss = (log_probs * returns).sum()",
    "cross entropy": (
        "p = F.cross_entropy(logits, actions, reduction='none');"
        " loss = (p * returns).mean()"
    ),
    "weights": "weight = returns.abs(); loss = (log_probs * weight).sum()",
}


@pytest.mark.parametrize("name", REVERSED)
def test_reversed_policies_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", REVERSED[name]))
    code = "optimistic-bound" if name == "a ratio" else "reversed-policy"
    found = [each for each in report.findings if each.code == code]
    assert found
    assert found[0].fixes[0].checked


@pytest.mark.parametrize("name", MEANT)
def test_policies_with_a_minus_are_quiet(name: str, tmp_path: Path) -> None:
    assert "reversed-policy" not in codes(tmp_path, MEANT[name])


RETURNS = """\
import torch
from torch import nn

policy = nn.Linear(6, 3)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
gamma = 0.9
for _ in range(2):
    rewards = [float(i) for i in range(5)]
    log_probs = policy(torch.randn(5, 6)).log_softmax(1)[:, 0]
    total, returns = 0.0, []
    {loop}
    loss = -(log_probs * torch.tensor(returns)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BACK = "for r in reversed(rewards):\n        total = r + gamma * total\n        "
TURNED = {
    "appended": (f"{BACK}returns.append(total)", "`returns.insert(0, total)`"),
    "by a slice": (
        "for r in rewards[::-1]:\n        total = total * gamma + r\n"
        "        returns.append(total)",
        "`returns.insert(0, total)`",
    ),
    "from the first step": (
        "for r in rewards:\n        total = r + gamma * total\n"
        "        returns.insert(0, total)",
        "`reversed(rewards)`",
    ),
    "from the first step, appended": (
        "for r in rewards:\n        total = r + gamma * total\n"
        "        returns.append(total)",
        "`reversed(rewards)` and `returns.insert(0, total)`",
    ),
}
IN_ORDER = {
    "inserted": f"{BACK}returns.insert(0, total)",
    "turned later": f"{BACK}returns.append(total)\n    returns = returns[::-1]",
    "reversed later": f"{BACK}returns.append(total)\n    returns.reverse()",
}


@pytest.mark.parametrize("name", TURNED)
def test_returns_in_another_order_are_found(name: str, tmp_path: Path) -> None:
    loop, fix = TURNED[name]
    (finding,) = rehearsed(tmp_path, RETURNS.replace("{loop}", loop)).findings
    assert finding.code == "return-order"
    assert [each.message for each in finding.fixes if each.checked] == [fix]


@pytest.mark.parametrize("name", IN_ORDER)
def test_returns_in_order_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, RETURNS.replace("{loop}", IN_ORDER[name]))
    assert not report.findings
