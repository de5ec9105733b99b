"""A generator whose loss is computed of real data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

G, D = nn.Linear(8, 2), nn.Linear(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(4):
    real, ones, zeros = torch.randn(16, 2), torch.ones(16, 1), torch.zeros(16, 1)
    fake = G(torch.randn(16, 8))
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    {loss}
    opt_g.zero_grad()
    {backward}
    opt_g.step()
"""
WRONG = {
    "a name": ("loss_g = bce(D(real), ones)", "loss_g.backward()"),
    "in place": ("pass", "bce(D(real), ones).backward()"),
    "hinge": ("loss_g = -D(real).mean()", "loss_g.backward()"),
}
RIGHT = {
    "of what it makes": ("loss_g = bce(D(fake), ones)", "loss_g.backward()"),
    "relativistic": ("loss_g = bce(D(fake) - D(real), ones)", "loss_g.backward()"),
    "of an output": ("out = D(fake); loss_g = bce(out, ones)", "loss_g.backward()"),
    "made again": (
        "loss_g = bce(D(G(torch.randn(16, 8))), ones)",
        "loss_g.backward()",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_loss_of_real_data_is_told(name: str, tmp_path: Path) -> None:
    loss, backward = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT.format(loss=loss, backward=backward))
    (finding,) = [f for f in report.findings if f.code == "no-gradient"]
    assert "`D(real)`" in finding.message
    assert [fix.message for fix in finding.fixes if fix.checked] == ["`fake`"]


@pytest.mark.parametrize("name", RIGHT)
def test_losses_of_a_generator_are_quiet(name: str, tmp_path: Path) -> None:
    loss, backward = RIGHT[name]
    report = rehearsed(tmp_path, SCRIPT.format(loss=loss, backward=backward))
    assert not report.findings
