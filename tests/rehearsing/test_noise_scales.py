"""Noise that is scaled by a variance, where the loss takes the same for a variance;
noise that is not normal, divergences that are subtracted.
"""

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
    "its logarithm": "z = mu + eps * v; " + KL + LOSS,
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


def write_summed(loss: str) -> str:
    """Return the script with a loss whose reconstruction is a sum."""
    summed = loss.replace("(decoder(z), x)", "(decoder(z), x, reduction='sum')")
    return SCRIPT.replace("{loss}", summed)


SUBTRACTED = {
    "a sign": "kl = 0.5 * torch.sum(1 + v - mu.pow(2) - v.exp()); " + LOSS,
    "in the sum": KL + "loss = F.mse_loss(decoder(z), x) - kl",
    "weighted": KL + "loss = F.mse_loss(decoder(z), x) - 0.1 * kl",
    "a mean": "kl = (1 + v - mu ** 2 - torch.exp(v)).sum(1).mean(); " + LOSS,
}
ADDED = {
    "a bound that is maximized": (
        KL + "bound = -F.mse_loss(decoder(z), x) - kl; loss = -bound"
    ),
    "an order": "kl = 0.5 * (mu.pow(2) + v.exp() - 1 - v).sum(); " + LOSS,
    "its negative": (
        "kl = (1 + v - mu.pow(2) - v.exp()).sum() / 2;"
        " loss = F.mse_loss(decoder(z), x) - kl"
    ),
}


@pytest.mark.parametrize("name", SUBTRACTED)
def test_subtracted_divergences_are_found(name: str, tmp_path: Path) -> None:
    text = f"z = mu + eps * torch.exp(0.5 * v); {SUBTRACTED[name]}"
    report = rehearsed(tmp_path, write_summed(text))
    (finding,) = report.findings
    assert finding.code == "reversed-divergence"
    assert name == "a mean" or finding.fixes[0].checked


@pytest.mark.parametrize("name", ADDED)
def test_added_divergences_are_quiet(name: str, tmp_path: Path) -> None:
    text = f"z = mu + eps * torch.exp(0.5 * v); {ADDED[name]}"
    report = rehearsed(tmp_path, write_summed(text))
    assert not report.findings


UNIFORM = {
    "like": "e = torch.rand_like(mu); z = mu + e * torch.exp(0.5 * v); ",
    "sized": "z = torch.rand(mu.shape) * (v / 2).exp() + mu; ",
}


@pytest.mark.parametrize("name", UNIFORM)
def test_uniform_noise_is_found(name: str, tmp_path: Path) -> None:
    text = UNIFORM[name] + KL + LOSS
    (finding,) = rehearsed(tmp_path, write_summed(text)).findings
    assert finding.code == "uniform-noise"
    assert "randn" in finding.fixes[0].message
    assert finding.fixes[0].checked


DIFFUSION = """\
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(6, 6)
optimizer = torch.optim.Adam(model.parameters())
bar = torch.linspace(0.99, 0.01, 50)
for _ in range(3):
    x = torch.randn(16, 6)
    a = bar[torch.randint(50, (16, 1))]
    noise = torch.{draw}_like(x)
    noisy = a.sqrt() * x + (1 - a).sqrt() * noise
    loss = F.mse_loss(model(noisy), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("draw", ["rand", "randn"])
def test_the_noise_of_diffusion_is_normal(draw: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, DIFFUSION.replace("{draw}", draw))
    wrong = [each.fixes[0].message for each in report.findings]
    assert wrong == (["`torch.randn_like(x)`"] if draw == "rand" else [])


def test_other_numbers_between_0_and_1_are_quiet(tmp_path: Path) -> None:
    """A mask of kept elements, random targets of a regression."""
    text = DIFFUSION.replace(
        "noisy = a.sqrt() * x + (1 - a).sqrt() * noise", "noisy = x"
    )
    report = rehearsed(tmp_path, text.replace("{draw}", "rand"))
    assert not report.findings
