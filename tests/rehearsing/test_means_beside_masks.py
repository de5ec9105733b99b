"""Means over steps in a function that makes a mask of padding and does not read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Topics(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.body = nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, ids):
        {mask}
        h = self.body(self.emb(ids)).relu()
        {result}


model = Topics()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randint(0, 30, (6, 9))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "with a dim of features": (
        "mask = (ids != 0).unsqueeze(-1).float()",
        "pooled = h.mean(dim=1); return self.head(pooled)",
        "`(h * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)`",
    ),
    "of truths": (
        "pad_mask = ids.ne(0)",
        "return self.head(h.mean(1))",
        "`(h * pad_mask.unsqueeze(-1)).sum(dim=1)"
        " / pad_mask.sum(dim=1, keepdim=True).clamp(min=1)`",
    ),
    "a function": (
        "attention_mask = (ids > 0).long()",
        "return self.head(torch.mean(h, dim=1))",
        "`(h * attention_mask.unsqueeze(-1)).sum(dim=1)"
        " / attention_mask.sum(dim=1, keepdim=True).clamp(min=1)`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mask_beside_a_mean_is_read(case: str, tmp_path: Path) -> None:
    mask, result, fix = WRONG[case]
    findings = rehearsed(tmp_path, SCRIPT.format(mask=mask, result=result)).findings
    (finding,) = [f for f in findings if f.code == "padded-mean"]
    assert "nothing reads the mask" in finding.message
    assert [one.message for one in finding.fixes if one.checked] == [fix]


MASK = "mask = (ids != 0).unsqueeze(-1).float()"
RIGHT = {
    "read": (MASK, "return self.head((h * mask).sum(1) / mask.sum(1).clamp(min=1))"),
    "read before": (MASK, "h = h * mask; return self.head(h.mean(dim=1))"),
    "no mask": ("pass", "return self.head(h.mean(dim=1))"),
    "a mask of others": (
        "mask = torch.rand(ids.shape)",
        "return self.head(h.mean(dim=1))",
    ),
    "a mean of features": (MASK, "return self.head(h[:, 0] + h.mean(dim=2)[:, :8])"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_means_that_are_meant_are_quiet(case: str, tmp_path: Path) -> None:
    mask, result = RIGHT[case]
    findings = rehearsed(tmp_path, SCRIPT.format(mask=mask, result=result)).findings
    assert not [f for f in findings if "nothing reads the mask" in f.message]
