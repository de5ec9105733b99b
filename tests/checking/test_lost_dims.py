"""Dims that were summed or indexed away, results that nobody reads, lone tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn

"""
CASES = {
    "items that are summed": (
        """\
conv, head = nn.Conv2d(3, 24, 3, padding=1), nn.Linear(24, 2)
images = torch.randn(2, 4, 3, 8, 8)
maps = conv(images.flatten(0, 1)).reshape(2, 4, 24, 8, 8)
pooled = torch.stack([rows.sum(1) for rows in maps])
head(pooled.mean((2, 3))).sum().backward()
""",
        "`rows.sum(0)`",
    ),
    "tokens that are averaged": (
        """\
encoder, head = nn.Linear(6, 16), nn.Linear(16, 3)
tokens = encoder(torch.randn(8, 5, 6))
head(tokens.mean(dim=2)).sum().backward()
""",
        "`tokens.mean(dim=1)`",
    ),
    "a batch of one": (
        """\
net = nn.Conv2d(3, 2, 3, padding=1)
image, mask = torch.randn(1, 3, 8, 8), torch.ones(1, 2, 8, 8)
def dice(a, b):
    return torch.dot(a.reshape(-1), b.reshape(-1)) / (a.sum() + b.sum())
scores = torch.sigmoid(net(image)[0])
total = sum(dice(p, m) for p, m in zip(scores, mask))
""",
        "`net(image)` without `[0]`",
    ),
    "a result that nobody reads": (
        """\
q, v = torch.randn(4, 2, 5, 8), torch.randn(4, 2, 5, 8)
weights = (q @ q.transpose(-1, -2)).softmax(-1)
out = weights @ v
out = weights.transpose(1, 2).contiguous().view(4, -1, 16)
""",
        "`out` for `weights`",
    ),
    "one tensor that is stacked": (
        "x = torch.randn(4, 6)\nnn.Linear(6, 2)(torch.stack(x, dim=0))\n",
        "`x`",
    ),
    "a padding of a layer": (
        """\
layers = []
for stride in (1, 2):
    layers.append(nn.ConvTranspose2d(4, 4, 3, stride, 1, output_padding=1))
nn.Sequential(*layers)(torch.randn(2, 4, 8, 8))
""",
        "`output_padding=stride - 1`",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_fix_gives_back_what_was_lost(name: str, tmp_path: Path) -> None:
    text, first = CASES[name]
    report = rehearsed(tmp_path, HEAD + text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert [fix.message for fix in finding.fixes if fix.checked][:1] == [first]


def test_a_flat_target_is_not_cut(tmp_path: Path) -> None:
    text = """\
scores, mask = nn.Conv2d(3, 2, 3)(torch.randn(1, 3, 8, 8)), torch.ones(3, 2, 6, 6)
torch.dot(scores.reshape(-1), mask.reshape(-1))
"""
    report = rehearsed(tmp_path, HEAD + text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert not any(":" in edit.text for fix in finding.fixes for edit in fix.edits)


def test_one_tensor_is_said_to_be_one(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + CASES["one tensor that is stacked"][0])
    (finding,) = report.findings
    assert finding.message == (
        "`torch.stack` joins a list of tensors, but `x` is one tensor"
    )
