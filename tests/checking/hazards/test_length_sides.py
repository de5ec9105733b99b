"""Similarities that are divided by the lengths of one side along the rows of the
other.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

query, key = nn.Linear(6, 8), nn.Linear(6, 8)
x = torch.randn(12, 6)
q, k = query(x), key(torch.randn(12, 6))
heads = q.view(12, 2, 4).transpose(0, 1)
others = k.view(12, 2, 4).transpose(0, 1)
"""
TURNED = "`k.norm(dim=1, keepdim=True).transpose(-2, -1)`"
WRONG = {
    "columns": (
        "n = q.norm(dim=1, keepdim=True) * k.norm(dim=1, keepdim=True)\n"
        "scores = q @ k.t() / (n + 1e-8)",
        TURNED,
    ),
    "rows": (
        "scores = torch.mm(q, k.T) / (q.norm(dim=1) * k.norm(dim=1))",
        "`q.norm(dim=1).unsqueeze(1)`",
    ),
    "heads": (
        "n = torch.norm(heads, dim=-1, keepdim=True)\n"
        "m = torch.norm(others, dim=-1, keepdim=True)\n"
        "scores = heads @ others.transpose(-2, -1) * 0.5 / (n * m).clamp(min=1e-6)",
        "`m.transpose(-2, -1)`",
    ),
    "einsum": (
        "scores = torch.einsum('hqd,hkd->hqk', heads, others)\n"
        "scores = scores / (heads.norm(dim=-1, keepdim=True)"
        " * others.norm(dim=-1, keepdim=True))",
        "`others.norm(dim=-1, keepdim=True).transpose(-2, -1)`",
    ),
    "one after another": (
        "scores = q @ k.t()\n"
        "scores = scores / q.norm(dim=1, keepdim=True)\n"
        "scores = scores / k.norm(dim=1, keepdim=True)",
        TURNED,
    ),
    "roots": (
        "a = (q * q).sum(1, keepdim=True)\n"
        "b = k.pow(2).sum(1, keepdim=True)\n"
        "scores = (q @ k.t()) / (a * b).sqrt()",
        "`b.transpose(-2, -1)`",
    ),
    "with itself": (
        "n = q.norm(dim=1, keepdim=True)\nscores = q @ q.t() / (n * n)",
        "`n.transpose(-2, -1)`",
    ),
    "reshaped": (
        "a, b = q.norm(dim=1).view(-1, 1), k.norm(dim=1)[:, None]\n"
        "scores = q @ k.t() / (a * b)",
        "`b.transpose(-2, -1)`",
    ),
}
RIGHT = {
    "transposed": "m = k.norm(dim=1, keepdim=True).t()\n"
    "n = q.norm(dim=1, keepdim=True) * m\n"
    "scores = q @ k.t() / n",
    "matrix product": "m = k.norm(dim=1, keepdim=True).T\n"
    "n = q.norm(dim=1, keepdim=True) @ m\n"
    "scores = q @ k.t() / n",
    "column and row": "scores = q @ k.t() / (q.norm(dim=1)[:, None] * k.norm(dim=1))",
    "of the transpose": "scores = q @ k.t()\nscores = scores"
    " / q.norm(dim=1, keepdim=True) / k.t().norm(dim=0, keepdim=True)",
    "outer": "scores = q @ k.t() / torch.outer(q.norm(dim=1), k.norm(dim=1))",
    "each with its own": "n = q.norm(dim=1) * k.norm(dim=1)\n"
    "scores = (q * k).sum(1) / n",
    "the diagonal": "n = q.norm(dim=1, keepdim=True) * k.norm(dim=1, keepdim=True)\n"
    "scores = (q @ k.t() / n).diagonal()",
    "projections": "scores = q @ q.t() / q.pow(2).sum(1, keepdim=True)",
    "one side": "scores = q @ k.t() / q.norm(dim=1, keepdim=True)",
    "scaled": "scores = q @ k.t() / (q.norm(dim=1, keepdim=True) * 8 ** 0.5)",
    "one query": "q, k = q[:1], k[:1]\n"
    "n = q.norm(dim=1, keepdim=True) * k.norm(dim=1, keepdim=True)\n"
    "scores = q @ k.t() / n",
    "gram of features": "n = q.norm(dim=0, keepdim=True)\n"
    "scores = q.t() @ q / (n * n.t())",
    "tanimoto": "both = q @ k.t()\n"
    "sums = q.pow(2).sum(1, keepdim=True) + k.pow(2).sum(1)\n"
    "scores = both / (sums - both)",
}


@pytest.mark.parametrize("name", WRONG)
def test_lengths_along_the_other_rows_are_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text + "\n")
    (finding,) = report.findings
    assert finding.code == "one-side-normalized"
    assert "along the rows of" in finding.message
    assert [edit.message for edit in finding.fixes if edit.checked] == [fix]


@pytest.mark.parametrize("name", RIGHT)
def test_other_lengths_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name] + "\n")
    assert report.complete, report
    codes = [finding.code for finding in report.findings]
    assert "one-side-normalized" not in codes
