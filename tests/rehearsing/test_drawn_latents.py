"""Latent variables of a VAE that are drawn without a graph, and legal draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import torch
from torch import nn
from torch.distributions import Categorical, Independent, Normal, kl_divergence
import torch.nn.functional as F

enc, dec = nn.Linear(12, 6), nn.Linear(3, 12)
critic = nn.Linear(3, 1)
parts = [*enc.parameters(), *dec.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parts, lr=1e-2)
x = torch.randn(32, 12)
prior = Normal(torch.zeros(3), torch.ones(3))
for step in range(3):
    mu, logvar = enc(x).chunk(2, dim=1)
    std = torch.exp(0.5 * logvar)
    q = Normal(mu, std)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KL = "kl = kl_divergence(q, prior).sum(1).mean()"
BY_HAND = "kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()"
SUM = "loss = F.mse_loss(dec(z), x) + kl"
WRONG = {
    "sample": (f"z = q.sample(); {KL}; {SUM}", "`q.rsample()`"),
    "by hand": (f"z = Normal(mu, std).sample(); {BY_HAND}; {SUM}",
                "`Normal(mu, std).rsample()`"),
    "independent": (
        "q = Independent(q, 1); z = q.sample(); "
        "kl = kl_divergence(q, Independent(prior, 1)).mean(); " + SUM,
        "`q.rsample()`",
    ),
    "normal": (f"z = torch.normal(mu, std); {BY_HAND}; {SUM}",
               "`mu + std * torch.randn_like(mu)`"),
}  # fmt: skip
QUIET = {
    "rsample": f"z = q.rsample(); {KL}; {SUM}",
    "noise": f"z = mu + std * torch.randn_like(std); {BY_HAND}; {SUM}",
    "a policy": "old = Normal(mu.detach(), std.detach()); z = q.sample(); "
    "values = critic(z); kl = kl_divergence(old, q).mean(); "
    "loss = -(q.log_prob(z).sum(1) * values.detach().squeeze(1)).mean() + kl"
    " + values.pow(2).mean()",
    "of the prior": f"z = prior.sample((32,)); {KL}; {SUM}",
    "printed": f"z = q.rsample(); {KL}; {SUM}; print(dec(q.sample()).mean())",
    "no divergence": "z = q.sample(); loss = F.mse_loss(dec(z), x) + mu.pow(2).mean()",
    "classes": "c = Categorical(logits=mu); z = F.one_hot(c.sample(), 3).float(); "
    + SUM.replace("kl", "kl_divergence(c, Categorical(logits=mu.detach())).mean()"),
}


def find_draws(folder: Path, loss: str) -> list[list[str]]:
    """The fixes of each draw that is told."""
    report = rehearsed(folder, SCRIPT.format(loss=loss))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "term-without-graph"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_latent_without_a_graph_is_told(name: str, tmp_path: Path) -> None:
    loss, fix = WRONG[name]
    assert find_draws(tmp_path, loss) == [[fix]]


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_of_other_draws(name: str, tmp_path: Path) -> None:
    assert find_draws(tmp_path, QUIET[name]) == []
