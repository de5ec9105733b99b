"""Losses of numbers that are given the largest of several scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn
model = nn.Linear(6, 4)
{head}
for step in range(3):
    x, y = torch.randn(8, 6), {classes}
    logits = model(x)
    {body}
    loss.backward()
"""
CLASSES = "torch.randint(0, 4, (8,))"
LAYER = "criterion = nn.MSELoss()"


def find_cuts(folder: Path, head: str, body: str, classes: str) -> list[Finding]:
    text = PROGRAM.format(head=head, body=body, classes=classes)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("head", "body", "edits"),
    [
        (
            LAYER,
            "p = torch.argmax(logits, dim=1); loss = criterion(p.float(), y.float())",
            ["logits", "y", "nn.CrossEntropyLoss"],
        ),
        (
            "criterion = nn.L1Loss()",
            "loss = criterion(logits.argmax(1).float(), y.float())",
            ["logits", "y", "nn.CrossEntropyLoss"],
        ),
        (
            "",
            "p = logits.argmax(1).float(); loss = F.mse_loss(p, y.float())",
            ["logits", "y", "F.cross_entropy"],
        ),
    ],
)
def test_the_loss_of_classes_gets_the_scores(
    head: str, body: str, edits: list[str], tmp_path: Path
) -> None:
    (finding,) = find_cuts(tmp_path, head, body, CLASSES)
    assert finding.code == "graph-cut"
    assert [edit.text for edit in finding.fixes[0].edits] == edits
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("head", "classes", "body"),
    [
        (LAYER, "torch.randn(8)", "loss = criterion(logits.argmax(1).float(), y)"),
        (
            f"{LAYER}\nprint(criterion(torch.zeros(2), torch.ones(2)))",
            CLASSES,
            "loss = criterion(logits.argmax(1).float(), y.float())",
        ),
    ],
)
def test_what_may_be_numbers_gets_no_loss_of_classes(
    head: str, classes: str, body: str, tmp_path: Path
) -> None:
    (finding,) = find_cuts(tmp_path, head, body, classes)
    assert not any("CrossEntropy" in fix.message for fix in finding.fixes)
