"""Rows of an identity for ids of classes that leave numbers out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
import torch.nn.functional as F

NUM_CLASSES = COUNT
IDS = [KEPT]


def encode(labels, rows):
    table = torch.eye(rows)
    return table[labels]


net = nn.Linear(6, ROWS)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(12, 6)
    labels = torch.tensor([IDS[(i + step) % len(IDS)] for i in range(12)])
    loss = F.binary_cross_entropy_with_logits(net(x), encode(labels, ROWS))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = [
    ("8", "1, 2, 4, 5, 7, 9, 10, 12", "1 + NUM_CLASSES", "12"),
    ("9", "0, 2, 4, 5, 7, 9, 10, 12, 13", "NUM_CLASSES", "14"),
    ("8", "c for c in range(1, 13) if c % 3", "1 + NUM_CLASSES", "12"),
]


def write_program(count: str, kept: str, rows: str) -> str:
    """A program with a number of classes, ids, and rows of a table for them."""
    text = PROGRAM.replace("COUNT", count).replace("KEPT", kept)
    return text.replace("ROWS", rows)


@pytest.mark.parametrize(("count", "kept", "rows", "mended"), WRONG)
def test_classes_up_to_the_largest_id(
    tmp_path: Path, count: str, kept: str, rows: str, mended: str
) -> None:
    report = rehearsed(tmp_path, write_program(count, kept, rows))
    finding = next(f for f in report.findings if f.code == "index-out-of-range")
    (fix,) = finding.fixes
    assert fix.checked
    assert fix.message == f"`NUM_CLASSES = {mended}`"
    words = f"`NUM_CLASSES` is {count}, and the ids in `labels` go up to"
    assert any(place.message.startswith(words) for place in finding.related)


@pytest.mark.parametrize(
    ("count", "kept"),
    [("8", "1, 2, 3, 4, 5, 6, 7, 8"), ("8", "0, 3, 7, 255")],
)
def test_labels_from_1_and_void_are_no_ids(
    tmp_path: Path, count: str, kept: str
) -> None:
    report = rehearsed(tmp_path, write_program(count, kept, "NUM_CLASSES"))
    finding = next(f for f in report.findings if f.code == "index-out-of-range")
    assert not any("ids in" in place.message for place in finding.related)
    assert not any("labels[:" in fix.message for fix in finding.fixes)


def test_enough_classes_are_quiet(tmp_path: Path) -> None:
    text = write_program("12", "1, 2, 4, 12", "1 + NUM_CLASSES")
    assert rehearsed(tmp_path, text).findings == ()
