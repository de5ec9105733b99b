"""Weights of classes that let the frequent ones count even more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

x, y = torch.randn(40, 4), (torch.arange(40) % 8 == 0).float()
classes = torch.arange(40) % 3
net, head = nn.Linear(4, 1), nn.Linear(4, 3)
"""
BINARY = """
criterion = nn.BCEWithLogitsLoss(pos_weight=weight)
criterion(net(x).squeeze(1), y).backward()
"""
CLASSES = """
F.cross_entropy(head(x), classes, weight=weight).backward()
"""
WRONG = {
    "sums": (
        "pos = y.sum()\nneg = len(y) - pos\nweight = pos / neg" + BINARY,
        "neg / pos",
    ),
    "comparisons": (
        "weight = (y == 1).sum() / (y == 0).sum()" + BINARY,
        "(y == 0).sum() / (y == 1).sum()",
    ),
    "a number": (
        "ones = int(y.sum().item())\nrest = y.numel() - ones\n"
        "weight = torch.tensor([ones / rest])" + BINARY,
        "rest / ones",
    ),
    "a share": (
        "n_pos = y.sum()\nweight = n_pos / len(y)" + BINARY,
        "(len(y) - n_pos) / n_pos",
    ),
    "bincount": (
        "counts = torch.bincount(y.long())\n"
        "weight = (counts[1] / counts[0]).float()" + BINARY,
        "counts[0] / counts[1]",
    ),
    "unpacked": (
        "frequent, rare = np.bincount(y.long().numpy())\n"
        "weight = torch.tensor(rare / max(frequent, 1))" + BINARY,
        "max(frequent, 1) / rare",
    ),
    "a rate": (
        "rate = y.mean()\nweight = rate / (1 - rate)" + BINARY,
        "(1 - rate) / rate",
    ),
    "a function": (
        """\
def make_loss(labels):
    positives = (labels > 0).sum()
    negatives = labels.shape[0] - positives
    return lambda out, target: F.binary_cross_entropy_with_logits(
        out, target, pos_weight=positives / negatives
    )

make_loss(y)(net(x).squeeze(1), y).backward()
""",
        "negatives / positives",
    ),
    "shares": (
        "counts = torch.bincount(classes).float()\n"
        "weight = counts / counts.sum()" + CLASSES,
        "counts.sum() / counts",
    ),
    "shares of NumPy": (
        "_, counts = np.unique(classes.numpy(), return_counts=True)\n"
        "share = counts / len(classes)\n"
        "weight = torch.tensor(share, dtype=torch.float32)" + CLASSES,
        "len(classes) / counts",
    ),
}
RIGHT = {
    "negatives by positives": "pos = y.sum()\nneg = len(y) - pos\nweight = neg / pos"
    + BINARY,
    "sums of masks": "pos, neg = y == 1, y == 0\nweight = neg.sum() / pos.sum()"
    + BINARY,
    "all by positives": "weight = len(y) / y.sum()" + BINARY,
    "the share of negatives": "neg = y == 0\nweight = neg.sum() / len(y)" + BINARY,
    "other words": "pos = (y == 0).sum()\nneg = (y == 1).sum()\nweight = pos / neg"
    + BINARY,
    "numbers": "weight = torch.tensor(24.0) / torch.tensor(2.0)" + BINARY,
    "inverse counts": "counts = torch.bincount(classes).float()\n"
    "weight = counts.sum() / counts" + CLASSES,
    "ones less the share": "counts = torch.bincount(classes).float()\n"
    "weight = 1 - counts / counts.sum()" + CLASSES,
    "normalized inverses": "counts = torch.bincount(classes).float()\n"
    "weight = 1.0 / counts\nweight = weight / weight.sum()" + CLASSES,
    "by the largest": "counts = torch.bincount(classes).float()\n"
    "weight = counts.max() / counts" + CLASSES,
    "for another use": "counts = torch.bincount(classes).float()\n"
    "prior = counts / counts.sum()\n"
    "F.cross_entropy(head(x) + prior.log(), classes).backward()\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_weights_upside_down_are_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    report = rehearsed(tmp_path, SCRIPT + text)
    (finding,) = [f for f in report.findings if f.code == "class-weights-inverted"]
    assert [each.message for each in finding.fixes] == [f"`{fix}`"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_alike_is_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT + RIGHT[name])
    codes = [finding.code for finding in report.findings]
    assert "class-weights-inverted" not in codes
