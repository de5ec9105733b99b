"""`x[mask][other] = 0`: what is written to a copy of some elements is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(8, 6)
mask, rows = torch.arange(8) < 5, torch.tensor([1, 2, 5])
words, hidden = torch.arange(24).view(4, 6), torch.rand(4, 6) < 0.5
batch = {"labels": torch.rand(8, 6)}
"""
LOST = {
    "columns of a mask": ("x[mask][:, 1] = 0.0", "`x[mask, 1] = 0.0`"),
    "columns, added": ("x[mask][:, 1:3] += 2.0", "`x[mask, 1:3] += 2.0`"),
    "one of the rows": ("x[rows][0] = 1.0", "`x[rows[0]] = 1.0`"),
    "rows of rows": (
        "x[rows][torch.tensor([0, 2])] = 1.0",
        "`x[rows[torch.tensor([0, 2])]] = 1.0`",
    ),
    "some of a mask": (
        "chosen = torch.rand(int(hidden.sum())) < 0.8\nwords[hidden][chosen] = 49",
        "`words[hidden] = words[hidden].masked_fill(chosen, 49)`",
    ),
    "an element of a row": ("x[rows][0][1] = 4.0", "`x[rows] = part`"),
    "the first of a mask": ("x[mask][0] = 4.0", "`x[mask] = part`"),
    "filled": ("x[mask].fill_(2.0)", "`x[mask] = 2.0`"),
    "zeros": ("x[mask].zero_()", "`x[mask] = 0`"),
    "multiplied": ("x[rows].mul_(0.5)", "`x[rows] = x[rows].mul(0.5)`"),
    "noise": ("x[rows].normal_()", "`x[rows] = part`"),
    "initialised": ("nn.init.ones_(x[rows])", "`x[rows] = 1`"),
    "in a dict": ("batch['labels'][mask].zero_()", "`batch['labels'][mask] = 0`"),
    "a list of rows": ("x[[0, 2]][:, 1] = 4.0", "`x[[0, 2], 1] = 4.0`"),
    "a turned tensor": ("x.T.reshape(-1)[rows] = 3.0", ""),
}


@pytest.mark.parametrize("case", LOST)
def test_what_is_written_to_a_copy_is_told(case: str, tmp_path: Path) -> None:
    text, fix = LOST[case]
    (finding,) = rehearsed(tmp_path, BEFORE + text + "\nprint(x, words)").findings
    assert finding.code == "result-dropped"
    assert [each.message for each in finding.fixes] == ([fix] if fix else [])


@pytest.mark.parametrize("case", LOST)
def test_torch_changes_nothing(case: str) -> None:
    before: dict[str, Any] = {}
    behind: dict[str, Any] = {}
    exec(BEFORE, before)
    exec(BEFORE + LOST[case][0], behind)
    for name in ("x", "words"):
        assert torch.equal(before[name], behind[name])


KEPT = {
    "one index": "x[mask] = 0.0\nx[rows, 1] += 1.0\nx[mask] *= 2.0",
    "a view": "x[0][1] = 1.0\nx[1:3][0] = 2.0\nx[:, 0].fill_(2.0)\nx[mask[0]] = 1.0",
    "a copy with a name": "part = x[mask]\npart[0] = 1.0\nx[mask] = part",
    "a copy that is read": "y = x[mask].clamp_(0, 1)\nprint(x[rows].mul_(2))",
    "a list of tensors": "parts = list(x)\nparts[2][rows] = 1.0\nparts[0].zero_()",
    "views that reshape": "x.reshape(-1)[rows] = 1.0\nx.view(-1)[rows] = 2.0",
    "a walrus": "print((part := x[rows]).zero_())",
}


@pytest.mark.parametrize("case", KEPT)
def test_what_is_written_or_kept_is_quiet(case: str, tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, BEFORE + KEPT[case] + "\nprint(x)").findings
