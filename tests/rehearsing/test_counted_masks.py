"""Masked losses that are divided by the count of what the mask leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(4, 9, 6)
    tokens = torch.randint(0, 5, (4, 9))
    hidden = torch.rand(4, 9) < 0.5
    pad_mask = tokens == 3
    loss = F.mse_loss(model(x), x, reduction="none").mean(dim=-1)
    {body}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "filled": (
        "loss = loss.masked_fill(hidden, 0.0).sum() / hidden.sum()",
        "`loss.masked_fill(~hidden, 0.0)`",
    ),
    "of each sample": (
        "loss = loss.masked_fill(hidden, 0.0)\n    count = hidden.sum(dim=-1)\n"
        "    loss = (loss.sum(dim=-1) / count.clamp(min=1)).mean()",
        "`loss.masked_fill(~hidden, 0.0)`",
    ),
    "padding": (
        "loss = loss.masked_fill(pad_mask, 0).sum() / pad_mask.sum()",
        "`(~pad_mask).sum()`",
    ),
    "multiplied": (
        "loss = (loss * (tokens != 3)).sum() / (tokens == 3).float().sum()",
        "`(tokens != 3).float().sum()`",
    ),
    "a mask in front": (
        "loss = ((tokens != 3).float() * loss).sum() / (tokens == 3).sum()",
        "`(tokens != 3).sum()`",
    ),
    "numbers": (
        "kept = hidden.float()\n"
        "    loss = (loss * (1 - kept)).sum() / (kept.sum() + 1e-6)",
        "",
    ),
}
RIGHT = {
    "what is kept": "loss = loss.masked_fill(~hidden, 0.0).sum() / hidden.sum()",
    "what is not hidden": "loss = loss.masked_fill(hidden, 0).sum() / (~hidden).sum()",
    "multiplied": "loss = (loss * hidden).sum() / hidden.sum().clamp(min=1)",
    "tokens": "loss = (loss * (tokens != 3)).sum() / (tokens != 3).sum()",
    "another token": "loss = (loss * (tokens != 3)).sum() / (tokens == 0).sum()",
    "two sides by one count": "near = (loss * hidden).sum() / hidden.sum()\n"
                              "    far = (loss * ~hidden).sum() / hidden.sum()\n"
                              "    loss = near + 0.5 * far",
    "a weight": "share = (~hidden).sum() / hidden.sum()\n"
                "    loss = (loss * hidden).mean() * share",
    "another mask": "loss = loss.masked_fill(pad_mask, 0).sum() / hidden.sum()",
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_count_of_what_is_left_out_is_told(case: str, tmp_path: Path) -> None:
    body, fix = WRONG[case]
    (finding,) = rehearsed(tmp_path, SCRIPT.format(body=body)).findings
    assert finding.code == "padded-mean"
    checked = [each.message for each in finding.fixes if each.checked]
    assert checked[:1] == [fix] * bool(fix)


@pytest.mark.parametrize("case", RIGHT)
def test_a_count_of_what_is_kept_is_quiet(case: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(body=RIGHT[case]))
    assert report.complete
    assert not report.findings
