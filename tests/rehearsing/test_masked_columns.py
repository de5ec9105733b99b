"""Masks of samples, `(B,)`, that meet a column of losses, `(B, 1)`."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(6, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def compute_loss(probs, scores, target, mask):
{body}


for _ in range(3):
    x, target = torch.randn(16, 6), torch.randint(0, 5, (16,))
    probs = model(x).softmax(1)
    loss = compute_loss(probs, model(x), target, target != 0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
COLUMN = "nll = -torch.log(torch.gather(probs, 1, target.view(-1, 1)))\n"
FLAT = COLUMN.replace("(-1, 1))", "(-1, 1)).squeeze(1)")
SCORE = "score = scores[:, :1]\n"
WRONG = {
    "select": COLUMN + "return nll.masked_select(mask).mean()",
    "function": COLUMN + "return torch.masked_select(nll, mask).mean()",
    "where": COLUMN + "zero = torch.tensor(0.0)\n"
             "return torch.where(mask, nll, zero).sum() / mask.sum()",
    "product": COLUMN + "return (nll * mask).sum() / mask.sum()",
    "floats": COLUMN + "keep = mask.float()\nreturn (keep * nll).sum() / keep.sum()",
    "fill": COLUMN + "return nll.masked_fill(~mask, 0.0).mean()",
    "a score": SCORE + "return score.masked_select(mask).mean()",
}  # fmt: skip
RIGHT = {
    "select": FLAT + "return nll.masked_select(mask).mean()",
    "where": FLAT + "return torch.where(mask, nll, torch.tensor(0.0)).mean()",
    "product": FLAT + "return (nll * mask).sum() / mask.sum()",
    "two columns": COLUMN + "return (nll * mask.unsqueeze(1)).sum()",
    "select by columns": COLUMN + "return nll.masked_select(mask[:, None]).mean()",
    "rows by a mask": COLUMN + "return nll[mask].mean()",
    "pairs": "same = target[:, None] == target\n"
             "return (probs @ probs.T).masked_select(same).mean()",
    "a scale of classes": "keep = torch.ones(5) == 1\n"
                          "return (scores.mean(1, keepdim=True) * keep).mean()",
    "weights of pairs": "risk = scores.sum(1, keepdim=True)\n"
                        "return (risk * mask).logsumexp(0).mean()",
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mask_of_samples_that_meets_a_column_is_found(
    name: str, tmp_path: Path
) -> None:
    text = SCRIPT.format(body=indent(WRONG[name], "    "))
    report = rehearsed(tmp_path, text)
    assert report.complete, report
    (finding,) = [f for f in report.findings if f.code == "outer-broadcast"]
    assert "makes (16, 16)" in finding.message
    assert finding.fixes
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_masks_of_their_own_shape_are_quiet(name: str, tmp_path: Path) -> None:
    text = SCRIPT.format(body=indent(RIGHT[name], "    "))
    report = rehearsed(tmp_path, text)
    assert report.complete, report
    assert "outer-broadcast" not in [f.code for f in report.findings]
