"""Contrastive losses in which each sample is a candidate for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6), torch.rand(64, 6), torch.randint(0, 3, (64,)))
net = nn.Linear(6, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for first, second, labels in DataLoader(data, batch_size=16):
    n = len(first)
    z1, z2 = F.normalize(net(first), dim=1), F.normalize(net(second), dim=1)
    z = torch.cat([z1, z2])
    places = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    own = torch.eye(2 * n, dtype=torch.bool)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "joined ranges": "loss = F.cross_entropy(z @ z.t() / 0.5, places)",
    "a rolled range": (
        "sim = torch.mm(z, z.T) * 2; "
        "loss = F.cross_entropy(sim, torch.arange(2 * n).roll(n))"
    ),
    "a remainder": (
        "sim = torch.matmul(z, z.transpose(0, 1)); "
        "loss = F.cross_entropy(sim / 0.1, (torch.arange(2 * n) + n) % (2 * n))"
    ),
    "einsum": (
        "sim = torch.einsum('id,jd->ij', z, z) / 0.5; "
        "loss = F.cross_entropy(sim, places)"
    ),
    "cosine": (
        "sim = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=-1); "
        "loss = F.cross_entropy(sim / 0.1, places)"
    ),
    "pairs": (
        "z = torch.stack([z1, z2], dim=1).flatten(0, 1); "
        "loss = F.cross_entropy(z @ z.T, torch.arange(2 * n) ^ 1)"
    ),
}
RIGHT = {
    "masked": (
        "sim = (z @ z.t() / 0.5).masked_fill(own, float('-inf')); "
        "loss = F.cross_entropy(sim, places)"
    ),
    "filled in place": (
        "sim = z @ z.t() / 0.5; sim.masked_fill_(own, -1e9); "
        "loss = F.cross_entropy(sim, places)"
    ),
    "written in place": (
        "sim = z @ z.t() / 0.5; sim[own] = -1e9; loss = F.cross_entropy(sim, places)"
    ),
    "subtracted": (
        "sim = z @ z.t() / 0.5 - own.float() * 1e9; loss = F.cross_entropy(sim, places)"
    ),
    "left out": (
        "sim = (z @ z.t())[~own].view(2 * n, -1); "
        "loss = F.cross_entropy(sim, places.clamp(max=2 * n - 2))"
    ),
    "two tensors": "loss = F.cross_entropy(z1 @ z2.t(), torch.arange(n))",
    "each row its own target": (
        "loss = F.cross_entropy(z1 @ z1.t() / 0.1, torch.arange(n))"
    ),
    "classes": "loss = F.cross_entropy(net(first), labels)",
    "attention": ("loss = F.mse_loss((z @ z.t()).softmax(-1) @ z, z.detach())"),
    "a mask of numbers": (
        "sim = torch.where(own, -1e9, z @ z.t()); loss = F.cross_entropy(sim, places)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_diagonal_among_the_candidates_is_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", WRONG[name]))
    (finding,) = [f for f in report.findings if f.code == "self-as-candidate"]
    assert "each of the 32 rows" in finding.message


MASKED = {
    "joined ranges": "(z @ z.t() / 0.5).masked_fill(torch.eye(len(z), ",
    "a rolled range": "sim.masked_fill(torch.eye(len(sim), ",
    "a remainder": "(sim / 0.1).masked_fill(torch.eye(len(sim), ",
}


@pytest.mark.parametrize("name", MASKED)
def test_the_diagonal_is_masked(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", WRONG[name]))
    (finding,) = [f for f in report.findings if f.code == "self-as-candidate"]
    (fix,) = [fix.message for fix in finding.fixes if fix.checked]
    assert MASKED[name] in fix


@pytest.mark.parametrize("name", RIGHT)
def test_other_similarities_are_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", RIGHT[name]))
    assert report.complete
    assert "self-as-candidate" not in [each.code for each in report.findings]
