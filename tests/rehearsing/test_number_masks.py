"""Masks of the whole numbers 0 and 1 that are used as an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

n = 40
rng = np.random.default_rng(0)
x, y = torch.randn(n, 5), torch.randint(3, (n,))
order = rng.permutation(n)
DATA
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters())
for _ in range(3):
    out = net(x)
    loss = USE
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
LOSS = "F.cross_entropy(out[mask], y[mask])"
ZEROS = "mask = torch.zeros(n, dtype=torch.long)\nmask[order[:30]] = 1"
WRONG = {
    "zeros and ones": (ZEROS, LOSS, "`dtype=torch.bool`"),
    "ones and zeros": (
        "mask = torch.ones(n, dtype=torch.int64)\nmask[30:] = 0",
        LOSS,
        "`dtype=torch.bool`",
    ),
    "a cast": ("mask = (x[:, 0] > 0).long()", LOSS, "`x[:, 0] > 0`"),
    "a column": (
        "is_train = torch.tensor((np.arange(n) % 4 > 0).astype(int))",
        LOSS.replace("mask", "is_train"),
        "`torch.tensor((np.arange(n) % 4 > 0).astype(int)).bool()`",
    ),
}
RIGHT = {
    "a mask of truths": (ZEROS.replace("long", "bool"), LOSS),
    "a cast at the index": (ZEROS, LOSS.replace("[mask]", "[mask.bool()]")),
    "a comparison": (ZEROS, LOSS.replace("[mask]", "[mask == 1]")),
    "indices": ("mask = torch.tensor(order[:30])", LOSS),
    "indices of all": ("mask = torch.tensor(order)", LOSS),
    "nonzero": (ZEROS, LOSS.replace("[mask]", "[mask.nonzero().squeeze(1)]")),
    "weights of two classes": (
        "kinds = (y > 1).long()\nshares = torch.tensor([0.3, 0.7])",
        "(F.cross_entropy(out, y, reduction='none') * shares[kinds]).mean()",
    ),
    "a table of two rows": (
        "kinds = (y > 1).long()\ntable = torch.randn(2, 3)",
        "(out - table[kinds]).pow(2).mean()",
    ),
    "numbers that are summed": (
        ZEROS,
        "(F.cross_entropy(out, y, reduction='none') * mask).sum() / mask.sum()",
    ),
    "bytes": (ZEROS.replace("long", "uint8"), LOSS),
    "labels of a table": (
        "groups = torch.tensor(np.arange(n) % 2)\nbase = torch.randn(n, 3)",
        "(out - base[groups]).pow(2).mean()",
    ),
}
CODE = "float-mask"


@pytest.mark.parametrize("name", WRONG)
def test_numbers_are_no_mask(name: str, tmp_path: Path) -> None:
    data, use, fix = WRONG[name]
    text = SCRIPT.replace("DATA", data).replace("USE", use)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [finding for finding in findings if finding.code == CODE]
    assert "(40,) holds the whole numbers 0 and 1" in finding.message
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_indices_and_masks_of_truths_are_right(name: str, tmp_path: Path) -> None:
    data, use = RIGHT[name]
    text = SCRIPT.replace("DATA", data).replace("USE", use)
    assert CODE not in {finding.code for finding in rehearsed(tmp_path, text).findings}


def test_a_mask_behind_an_error_is_told(tmp_path: Path) -> None:
    text = SCRIPT.replace("DATA", ZEROS).replace("USE", LOSS)
    text = text.replace("nn.Linear(8, 3)", "nn.Linear(9, 3)")
    findings = rehearsed(tmp_path, text).findings
    assert [finding.severity for finding in findings][:1] == ["error"]
    (finding,) = [finding for finding in findings if finding.code == CODE]
    assert finding.fixes[0].message == "`dtype=torch.bool`"
