"""Probabilities that are asked of squashed or scaled draws, or of draws anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Beta, Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform

MAX_ACTION = 2.0
actor = nn.Linear(6, 2)
state = torch.randn(8, 6)
mean = actor(state)
std = torch.ones_like(mean)


"""
WRONG = {
    "tanh": (
        "dist = Normal(mean, std)\n"
        "raw = dist.rsample()\n"
        "action = torch.tanh(raw)\n"
        "logp = dist.log_prob(action).sum(-1)",
        "`dist.log_prob(raw)`",
    ),
    "in a class, with a correction": (
        "class Policy(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.net = actor\n\n"
        "    def sample(self, s):\n"
        "        mu = self.net(s)\n"
        "        policy = torch.distributions.Normal(mu, 1.0)\n"
        "        z = policy.rsample()\n"
        "        a = z.tanh() * MAX_ACTION\n"
        "        logp = policy.log_prob(a) - torch.log(1 - a.pow(2) + 1e-6)\n"
        "        return a, logp.sum(1)\n\n"
        "Policy().sample(state)",
        "`policy.log_prob(z)`",
    ),
    "scaled": (
        "dist = Beta(F.softplus(mean) + 1, F.softplus(mean) + 1)\n"
        "u = dist.sample()\n"
        "action = 2 * u - 1\n"
        "logp = dist.log_prob(action)",
        "`dist.log_prob(u)`",
    ),
    "without a name": (
        "dist = Normal(mean, std)\n"
        "action = torch.sigmoid(dist.sample())\n"
        "logp = dist.log_prob(action)",
        "",
    ),
    "of a second draw": (
        "dist = torch.distributions.Categorical(logits=mean)\n"
        "action = dist.sample()\n"
        "kept = []\n"
        "kept.append((state, action, dist.log_prob(dist.sample())))",
        "`dist.log_prob(action)`",
    ),
    "of a second draw, returned": (
        "class Policy(nn.Module):\n"
        "    def forward(self, s):\n"
        "        return Normal(actor(s), 1.0)\n\n"
        "    def act(self, s):\n"
        "        pi = self(s)\n"
        "        a = pi.sample().numpy()\n"
        "        again = pi.sample()\n"
        "        logp = pi.log_prob(again).sum(-1)\n"
        "        return a, logp\n\n"
        "Policy().act(state)",
        "`pi.log_prob(torch.as_tensor(a))`",
    ),
    "of a second draw of what is built twice": (
        "class Env:\n"
        "    def step(self, a):\n"
        "        return -a\n\n"
        "def run(env, logits):\n"
        "    a = torch.distributions.Categorical(logits=logits).sample()\n"
        "    lp = torch.distributions.Categorical(logits=logits).log_prob(\n"
        "        torch.distributions.Categorical(logits=logits).sample())\n"
        "    return -lp * env.step(a)\n\n"
        "run(Env(), mean)",
        "`torch.distributions.Categorical(logits=logits).log_prob(a)`",
    ),
}
RIGHT = {
    "as drawn": (
        "dist = Normal(mean, std)\n"
        "raw = dist.rsample()\n"
        "action = torch.tanh(raw)\n"
        "logp = dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)"
    ),
    "transformed": (
        "dist = TransformedDistribution(Normal(mean, std), [TanhTransform()])\n"
        "a = dist.rsample()\n"
        "logp = dist.log_prob(a)"
    ),
    "an entropy of draws": (
        "dist = Normal(mean, std)\n"
        "kept = []\n"
        "a = dist.rsample()\n"
        "entropy = -dist.log_prob(dist.rsample()).sum(-1)\n"
        "kept.append((a, entropy))"
    ),
    "both probabilities": (
        "def act(dist):\n"
        "    a = dist.sample()\n"
        "    logp = dist.log_prob(a)\n"
        "    other = dist.log_prob(dist.sample())\n"
        "    return a, logp, other\n\n"
        "act(Normal(mean, std))"
    ),
    "two policies": (
        "def act(first, second):\n"
        "    a = first.sample()\n"
        "    logp = second.log_prob(second.sample())\n"
        "    return a, logp\n\n"
        "act(Normal(mean, std), Normal(mean + 1, std))"
    ),
    "another distribution of the name": (
        "kept = []\n"
        "dist = Normal(mean, std)\n"
        "old = dist.sample()\n"
        "kept.append(old)\n"
        "dist = Normal(mean + 1, std)\n"
        "new = dist.sample()\n"
        "kept.append((new, dist.log_prob(new)))"
    ),
    "an average over draws": (
        "def estimate(dist):\n"
        "    a = dist.sample()\n"
        "    logp = dist.log_prob(dist.sample((100,))).mean(0)\n"
        "    return a, logp\n\n"
        "estimate(Normal(mean, std))"
    ),
    "limited": (
        "dist = Normal(mean, std)\n"
        "a = dist.sample().clamp(-1, 1)\n"
        "logp = dist.log_prob(a)"
    ),
    "of another distribution": (
        "prior = Normal(torch.zeros(8, 2), torch.ones(8, 2))\n"
        "dist = Normal(mean, std)\n"
        "z = torch.tanh(dist.rsample())\n"
        "logp = prior.log_prob(z)"
    ),
    "scaled back": (
        "dist = Normal(mean, std)\n"
        "raw = dist.sample()\n"
        "action = torch.tanh(raw)\n"
        "logp = dist.log_prob(torch.atanh(action))"
    ),
    "standardized by hand": (
        "dist = Normal(torch.zeros(8, 2), torch.ones(8, 2))\n"
        "eps = dist.sample()\n"
        "logp = Normal(mean, std).log_prob(mean + std * eps)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_changed_draw_is_found(tmp_path: Path, name: str) -> None:
    body, edit = WRONG[name]
    finding = next(
        f for f in rehearsed(tmp_path, SCRIPT + body).findings
        if f.code == "changed-draw"
    )  # fmt: skip
    assert [fix.message for fix in finding.fixes] == ([edit] if edit else [])


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_a_right_one(tmp_path: Path, name: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT + RIGHT[name]).findings
    assert "changed-draw" not in {f.code for f in findings}


@pytest.mark.parametrize(
    ("weights", "edit"),
    [
        ("actor(state)", "`actor(state).softmax(-1)`"),
        ("actor(state) / 0.8", "`(actor(state) / 0.8).softmax(-1)`"),
        ("(actor(state) / 0.8).softmax(-1)", ""),
        ("actor(state).exp()", ""),
        ("torch.ones(2)", ""),
    ],
)
def test_scores_are_no_weights_of_a_draw(
    tmp_path: Path, weights: str, edit: str
) -> None:
    script = f"{SCRIPT}index = torch.multinomial({weights}, 1)\n"
    findings = rehearsed(tmp_path, script).findings
    fixes = [fix.message for finding in findings for fix in finding.fixes]
    assert fixes == [edit] * bool(edit)


PPO = """\
optimizer = torch.optim.Adam(actor.parameters())
actions = Normal(mean, std).sample()
{before}
for _ in range(3):
    dist = Normal(actor(state), std)
    new = dist.log_prob(actions)
    {inside}
    ratio = {ratio}
    loss = -ratio.clamp(0.8, 1.2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "inside", "ratio", "is_found"),
    [
        ("", "old = dist.log_prob(actions)", "(new - old).exp()", True),
        ("", "old = dist.log_prob(actions)", "torch.exp(new - old.detach())", False),
        ("", "old = dist.log_prob(actions)", "torch.exp(new - old)", True),
        (
            "with torch.no_grad():\n    old = Normal(mean, std).log_prob(actions)",
            "",
            "(new - old).exp()",
            False,
        ),
        ("", "old = new.detach()", "(new - old).exp()", False),
    ],
)
def test_a_ratio_of_one_policy(
    tmp_path: Path, before: str, inside: str, ratio: str, is_found: bool
) -> None:
    script = SCRIPT + PPO.format(before=before, inside=inside, ratio=ratio)
    codes = {finding.code for finding in rehearsed(tmp_path, script).findings}
    assert ("equal-policies" in codes) == is_found
