"""Targets of 0 and 1 for losses whose targets are 1 and -1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

encoder = nn.Linear(6, 4)
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
a, b = torch.randn(8, 6), torch.randn(8, 6)
ids = torch.arange(8) % 3
{before}
for step in range(2):
    u, v = encoder(a), encoder(b)
    s, t = u.sum(1), v.sum(1)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
COSINE = "F.cosine_embedding_loss(u, v, same)"
WRONG = {
    "drawn": ("same = torch.randint(0, 2, (8,))", COSINE, "`2 * same - 1`"),
    "cast": ("same = torch.randint(2, (8,)).float()", COSINE, "`2 * same - 1`"),
    "written": ("same = torch.tensor([1, 0] * 4)", COSINE, "`2 * same - 1`"),
    "compared": ("same = (ids == 1).float()", "nn.HingeEmbeddingLoss()(s, same)",
                 "`2 * same - 1`"),
    "joined": ("same = torch.cat([torch.ones(4), torch.zeros(4)])",
               "F.soft_margin_loss(s, same)", "`2 * same - 1`"),
    "ranked": ("", "F.margin_ranking_loss(s, t, (ids > 0).float())",
               "`2 * (ids > 0).float() - 1`"),
}  # fmt: skip
RIGHT = {
    "signs": ("same = 2 * torch.randint(0, 2, (8,)) - 1", COSINE),
    "where": ("same = torch.where(ids == 1, 1, -1)", COSINE),
    "written": ("same = torch.tensor([1, -1] * 4)", COSINE),
    "zeros replaced": ("same = torch.randint(0, 2, (8,)); same[same == 0] = -1",
                       COSINE),
    "pairs of one kind": ("same = torch.ones(8)", "F.margin_ranking_loss(s, t, same)"),
    "signs of others": ("", "F.margin_ranking_loss(s, t, (b - a).sum(1).sign())"),
    "another loss": ("same = torch.randint(0, 2, (8,)).float()",
                     "F.binary_cross_entropy_with_logits(s, same)"),
}  # fmt: skip


def find_targets(folder: Path, before: str, loss: str) -> list[list[str]]:
    """The checked fixes of each finding of targets."""
    report = rehearsed(folder, SCRIPT.format(before=before, loss=loss))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "unreachable-targets"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_targets_without_a_sign_are_told(name: str, tmp_path: Path) -> None:
    before, loss, fix = WRONG[name]
    assert find_targets(tmp_path, before, loss) == [[fix]]


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_said_of_signed_targets(name: str, tmp_path: Path) -> None:
    assert find_targets(tmp_path, *RIGHT[name]) == []
