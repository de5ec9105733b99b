"""Sizes that a model is built with and that none of its layers reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F


class Scaled(nn.Module):
    def __init__(self, in_size, out_size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_size, in_size))
        self.scale = in_size ** -0.5

    def forward(self, x):
        return F.linear(x, self.weight * self.scale)


class Generator(nn.Module):
    def __init__(self, latent_size={default}, width=64):
        super().__init__()
        {stored}
        sizes = [width, width // 2]
        self.first = {first}
        self.second = nn.Linear(sizes[0], sizes[1])

    def sample(self, n):
        return self(torch.randn(n, {drawn}))

    def forward(self, z):
        return self.second(torch.relu(self.first(z)))


net = Generator({arguments})
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    net.sample(8).pow(2).mean().backward()
    optimizer.step()
"""
BASE = {
    "default": "16", "stored": "self.latent_size = latent_size",
    "first": "Scaled(sizes[0], sizes[0])", "drawn": "self.latent_size",
    "arguments": "24",
}  # fmt: skip
CASES = {
    "a layer of the program": ({}, "`Scaled(latent_size, sizes[0])`"),
    "a layer of torch": (
        {"first": "nn.Linear(64, sizes[0])"},
        "`nn.Linear(latent_size, sizes[0])`",
    ),
    "a keyword": (
        {"arguments": "latent_size=24", "first": "nn.Linear(in_features=64,"
         " out_features=64)"},
        "`nn.Linear(in_features=latent_size, out_features=64)`",
    ),
    "its default": ({"arguments": ""}, "`Scaled(latent_size, sizes[0])`"),
    "two at once": (
        {"stored": "self.latent_size, self.width = latent_size, width"},
        "`Scaled(latent_size, sizes[0])`",
    ),
}  # fmt: skip


def find_errors(folder: Path, settings: dict[str, str]) -> list[Finding]:
    """Return the errors of a training with these lines."""
    findings = rehearsed(folder, SCRIPT.format(**{**BASE, **settings})).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("name", CASES)
def test_the_layer_reads_the_size_of_the_model(name: str, tmp_path: Path) -> None:
    settings, message = CASES[name]
    (finding,) = find_errors(tmp_path, settings)
    assert finding.fixes[0].message == message
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "settings",
    [
        {"first": "Scaled(latent_size, sizes[0])"},
        {"arguments": "64"},
        {"drawn": "64"},
    ],
)
def test_sizes_that_fit_are_quiet(settings: dict[str, str], tmp_path: Path) -> None:
    assert find_errors(tmp_path, settings) == []


def test_a_size_that_another_layer_reads_is_not_written(tmp_path: Path) -> None:
    stored = "self.latent_size = latent_size; self.norm = nn.LayerNorm(latent_size)"
    (finding,) = find_errors(tmp_path, {"stored": stored})
    assert not any("latent_size, sizes" in fix.message for fix in finding.fixes)
