"""Adversarial terms that read detached samples beside a term that trains the generator:
found with the edit, and programs that detach what they mean to quiet.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(26, 16), nn.LeakyReLU(0.2))
        self.out = nn.Linear(16, 1)

    def forward(self, x, condition):
        return self.out(self.body(torch.cat([x, condition], 1)))


G = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 20))
D = Judge()
bce = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
for step in range(3):
    x, c = torch.randn(16, 20), torch.randn(16, 6)
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    fake = G(torch.cat([torch.randn(16, 8), c], 1))
    {before}
    loss_d = {loss_d}
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = {loss_g}
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
"""
DETACHED = "bce(D(fake.detach(), c), ones) + 10 * F.l1_loss(fake, x)"
PLAIN = {
    "before": "pass",
    "loss_d": "bce(D(x, c), ones) + bce(D(fake.detach(), c), zeros)",
    "loss_g": "bce(D(fake, c), ones) + 10 * F.l1_loss(fake, x)",
}
WRONG = {
    "detached": ({"loss_g": DETACHED}, "`fake`"),
    "by its data": (
        {"loss_g": DETACHED.replace("fake.detach()", "fake.data")}, "`fake`",
    ),
    "by a name": (
        {
            "before": "still = fake.detach()",
            "loss_d": "bce(D(x, c), ones) + bce(D(still, c), zeros)",
            "loss_g": "bce(D(still, c), ones) + 10 * F.l1_loss(fake, x)",
        },
        "`fake` for `still` in this loss",
    ),
    "smooth labels, least squares": (
        {
            "loss_d": "F.mse_loss(D(x, c), 0.9 * ones)"
            " + F.mse_loss(D(fake.detach(), c), zeros)",
            "loss_g": "F.mse_loss(D(fake.detach(), c), ones) + F.l1_loss(fake, x)",
        },
        "`fake`",
    ),
}  # fmt: skip
RIGHT = {
    "in the loss of the discriminator": {},
    "beside a term with the graph": {
        "loss_g": "bce(D(fake, c), ones) + 0 * " + DETACHED,
    },
    "both losses in one": {
        "loss_g": PLAIN["loss_g"] + " + " + PLAIN["loss_d"],
    },
    "another network with the graph": {
        "loss_g": "bce(D(fake, c), ones) + F.l1_loss(D(fake.detach(), c), ones)",
    },
    "a condition": {
        "loss_d": "bce(D(x, c.detach()), ones) + bce(D(fake.detach(), c), zeros)",
    },
    "an input of the generator": {
        "before": "first = fake; fake = first + G(torch.cat([first[:, :8].detach(), c],"
        " 1))",
    },
}  # fmt: skip


def write(**parts: str) -> str:
    """Return the program with these parts in place of the right ones."""
    return PROGRAM.format(**PLAIN | parts)


@pytest.mark.parametrize("name", WRONG)
def test_a_term_that_trains_nothing_of_the_generator(name: str, tmp_path: Path) -> None:
    parts, message = WRONG[name]
    (finding,) = rehearsed(tmp_path, write(**parts)).findings
    assert finding.code == "term-without-graph"
    assert "without a graph, for the label 1 of real data" in finding.message
    assert [fix.message for fix in finding.fixes] == [message]
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_samples_that_are_detached_on_purpose(name: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, write(**RIGHT[name])).findings
    assert [finding.message for finding in findings] == []
