"""Noise that is scaled by a variance, where the loss takes the same for a variance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.rand(64, 6)), batch_size=16)
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
for (x,) in loader:
    mu, v = encoder(x).chunk(2, dim=1)
    eps = torch.randn_like(mu)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KL = "kl = -0.5 * torch.sum(1 + v - mu.pow(2) - v.exp()); "
LOSS = "loss = F.mse_loss(decoder(z), x) + kl"
WRONG = {
    "exp": "std = torch.exp(v); z = mu + eps * std; " + KL + LOSS,
    "a method": "z = mu + v.exp() * torch.randn(mu.shape); " + KL + LOSS,
    "one exp for both": (
        "var = v.exp(); z = mu + eps * var; "
        "kl = 0.5 * (mu ** 2 + var - v - 1).sum(1).mean(); " + LOSS
    ),
    "another order": (
        "z = eps.mul(v.exp()).add(mu); "
        "kl = (v.exp() + mu.square() - 1 - v).sum() / 2; " + LOSS
    ),
    "weighted": (
        "z = torch.exp(v) * eps + mu; kl = -0.5 * (1 + v - mu * mu - torch.exp(v))"
        ".sum(dim=1).mean(); loss = F.mse_loss(decoder(z), x) + 0.1 * kl"
    ),
    "in place": (
        "z = mu + eps * v.exp(); " + KL + "loss = F.mse_loss(decoder(z), x); loss += kl"
    ),
}
RIGHT = {
    "a half": "z = mu + eps * torch.exp(0.5 * v); " + KL + LOSS,
    "divided by two": "z = mu + eps * torch.exp(v / 2); " + KL + LOSS,
    "a root": "z = mu + eps * v.exp().sqrt(); " + KL + LOSS,
    "the logarithm of a deviation": (
        "z = mu + eps * v.exp(); "
        "kl = -0.5 * (1 + 2 * v - mu ** 2 - torch.exp(2 * v)).sum(); " + LOSS
    ),
    "the square of a deviation": (
        "std = v.exp(); z = mu + eps * std; "
        "kl = (0.5 * (std ** 2 + mu ** 2 - 1) - v).sum(); " + LOSS
    ),
    "no divergence": "z = mu + eps * v.exp(); loss = F.mse_loss(decoder(z), x)",
    "counts": (
        "z = mu + eps; rate = v.exp(); loss = (rate - x[:, :2] * v).sum()"
        " + F.mse_loss(decoder(z), x) + (mu ** 2).sum()"
    ),
    "no noise": "z = mu * v.exp(); " + KL + LOSS,
}


@pytest.mark.parametrize("name", WRONG)
def test_variances_as_scales_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", WRONG[name]))
    (finding,) = [f for f in report.findings if f.code == "variance-as-scale"]
    assert "`exp(0.5 * v)`" in finding.message
    assert name == "one exp for both" or finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_deviations_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", RIGHT[name]))
    assert report.complete
    assert "variance-as-scale" not in [each.code for each in report.findings]
