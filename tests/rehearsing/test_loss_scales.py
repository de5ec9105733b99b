"""Losses that are averaged too early, and sums that meet means."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

VAE = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 20))
encoder, decoder = nn.Linear(20, 16), nn.Linear(8, 20)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
beta = 4.0
for (x,) in DataLoader(data, batch_size=16):
    mu, logvar = encoder(x).chunk(2, dim=1)
    y = decoder(mu + torch.exp(0.5 * logvar) * torch.randn_like(mu))
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
INNER = "1 + logvar - mu.pow(2) - logvar.exp()"
SUMMED = 'recon = F.mse_loss(y, x, reduction="sum")\n'
MIXED = {
    "torch.mean": f"{SUMMED}loss = recon - 0.5 * torch.mean({INNER})",
    "a method": f"{SUMMED}kl = -0.5 * ({INNER}).mean()\nloss = kl + recon",
    "half inside": f"{SUMMED}kl = (-0.5 * ({INNER})).mean()\nloss = recon + kl",
    "other signs":
        f"{SUMMED}kl = 0.5 * torch.mean(mu**2 + torch.exp(logvar) - logvar - 1)\n"
        "loss = recon + kl",
    "squares": f"loss = ((y - x) ** 2).sum() - 0.5 * torch.mean({INNER})",
    "a sum, as torch once said":
        f"loss = F.mse_loss(y, x, size_average=False) - 0.5 * torch.mean({INNER})",
    "the reverse": f"loss = F.mse_loss(y, x) - 0.5 * torch.sum({INNER})",
}  # fmt: skip
EVEN = {
    "two sums": f"{SUMMED}loss = recon - 0.5 * torch.sum({INNER})",
    "two means": f"loss = F.mse_loss(y, x) - 0.5 * torch.mean({INNER})",
    "a weight": f"{SUMMED}loss = recon + beta * -0.5 * torch.mean({INNER})",
    "a small weight": f"loss = F.mse_loss(y, x) - 0.00025 * torch.sum({INNER})",
    "means over samples":
        f"loss = F.mse_loss(y, x) - (0.5 * ({INNER}).sum(1)).mean()",
    "divided": f"loss = F.mse_loss(y, x) - 0.5 * torch.sum({INNER}) / x.numel()",
    "two sums, as torch once said":
        f"loss = F.mse_loss(y, x, size_average=False) - 0.5 * torch.sum({INNER})",
    "a penalty": f"{SUMMED}loss = recon + mu.pow(2).mean()",
}  # fmt: skip
WIDE = VAE.replace("20", "90")
OF_SAMPLES = {
    "a sum for each sample":
        f"loss = F.mse_loss(y, x) - 0.5 * torch.sum({INNER}, dim=1).mean()",
    "half inside":
        f"kl = (-0.5 * ({INNER})).sum(1)\nloss = F.mse_loss(y, x) + kl.mean()",
    "a division by the batch":
        f"loss = F.mse_loss(y, x) - 0.5 * torch.sum({INNER}) / x.size(0)",
}  # fmt: skip
OF_WEIGHTS = {
    "a weight": f"loss = F.mse_loss(y, x) - 0.01 * ({INNER}).sum(1).mean()",
    "a weight beside it":
        f"kl = -0.5 * ({INNER}).sum(1).mean()\nloss = F.mse_loss(y, x) + beta * kl",
    "a weight of the reconstruction":
        f"loss = 90 * F.mse_loss(y, x) - 0.5 * ({INNER}).sum(1).mean()",
    "two sums for each sample":
        "recon = (y - x).pow(2).sum(1).mean()\n"
        f"loss = recon - 0.5 * ({INNER}).sum(1).mean()",
    "two sums over the batch":
        f"{SUMMED}loss = recon / x.size(0) - 0.5 * torch.sum({INNER}) / x.size(0)",
}  # fmt: skip
FOCAL = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6), torch.randint(0, 3, (64,)))
model, criterion, bce = nn.Linear(6, 3), nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=16):
    logits = model(x)
    one_hot = F.one_hot(y, 3).float()
{body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
EARLY = {
    "a function":
        "ce = F.cross_entropy(logits, y)\npt = torch.exp(-ce)\n"
        "loss = (0.25 * (1 - pt) ** 2 * ce).mean()",
    "a layer":
        "ce = criterion(logits, y)\npt = (-ce).exp()\nloss = (1 - pt).pow(2) * ce",
    "of a logarithm":
        "logpt = -F.cross_entropy(logits, y)\npt = logpt.exp()\n"
        "loss = -((1 - pt) ** 2) * logpt",
    "binary":
        "b = bce(logits, one_hot)\nloss = 0.25 * (1 - torch.exp(-b)) ** 2 * b",
}  # fmt: skip
LATE = {
    "each sample":
        "ce = F.cross_entropy(logits, y, reduction='none')\npt = torch.exp(-ce)\n"
        "loss = (0.25 * (1 - pt) ** 2 * ce).mean()",
    "perplexity": "ce = criterion(logits, y)\nprint(ce.exp())\nloss = ce",
    "a weight of two losses":
        "a, b = criterion(logits, y), bce(logits, one_hot)\n"
        "loss = (1 - torch.exp(-a)) ** 2 * b",
    "an uncertainty":
        "s = logits.mean()\nloss = torch.exp(-s) * criterion(logits, y) + s",
}  # fmt: skip


def find_codes(folder: Path, text: str, code: str) -> list[str]:
    report = rehearsed(folder, text)
    assert report.complete, report
    return [finding.code for finding in report.findings if finding.code == code]


@pytest.mark.parametrize("name", MIXED)
def test_a_mean_beside_a_sum_is_found(name: str, tmp_path: Path) -> None:
    text = VAE.format(body=indent(MIXED[name], "    "))
    assert find_codes(tmp_path, text, "mixed-reductions") == ["mixed-reductions"]


@pytest.mark.parametrize("name", EVEN)
def test_weights_and_equal_reductions_are_quiet(name: str, tmp_path: Path) -> None:
    text = VAE.format(body=indent(EVEN[name], "    "))
    assert find_codes(tmp_path, text, "mixed-reductions") == []


@pytest.mark.parametrize("name", OF_SAMPLES)
def test_a_mean_of_many_pixels_beside_sums_of_samples(
    name: str, tmp_path: Path
) -> None:
    text = WIDE.format(body=indent(OF_SAMPLES[name], "    "))
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "mixed-reductions"
    assert "counts 90 times too little" in finding.message
    assert "and `/ x.size(0)`" in finding.fixes[0].message


@pytest.mark.parametrize("name", OF_WEIGHTS)
def test_weights_beside_sums_of_samples_are_quiet(name: str, tmp_path: Path) -> None:
    text = WIDE.format(body=indent(OF_WEIGHTS[name], "    "))
    assert find_codes(tmp_path, text, "mixed-reductions") == []


@pytest.mark.parametrize("name", EARLY)
def test_a_focal_factor_of_a_mean_is_found(name: str, tmp_path: Path) -> None:
    text = FOCAL.format(body=indent(EARLY[name], "    "))
    assert find_codes(tmp_path, text, "focal-on-mean") == ["focal-on-mean"]


@pytest.mark.parametrize("name", LATE)
def test_factors_of_samples_are_quiet(name: str, tmp_path: Path) -> None:
    text = FOCAL.format(body=indent(LATE[name], "    "))
    assert find_codes(tmp_path, text, "focal-on-mean") == []


def test_the_edits_are_tried(tmp_path: Path) -> None:
    text = FOCAL.format(body=indent(EARLY["a function"], "    "))
    (finding,) = rehearsed(tmp_path, text).findings
    assert 'reduction="none"' in finding.fixes[0].message
    assert finding.fixes[0].checked
    text = VAE.format(body=indent(MIXED["torch.mean"], "    "))
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.fixes[0].message == "`sum` for `mean`"
    assert finding.fixes[0].checked
