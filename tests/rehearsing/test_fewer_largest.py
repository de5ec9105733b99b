"""`topk` of more than there are classes: the model is not made wider."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

NET = """\
import torch
from torch import nn
{before}

def accuracy(output, target, topk=(1,)):
    {most}
    _, pred = {call}
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].float().sum().item() for k in topk]

net = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, {classes}))
scores, labels = net(torch.rand(16, 13)), torch.randint(0, 3, (16,))
print({shown})
"""
MOST, CALL = "maxk = max(topk)", "output.topk(maxk, dim=1)"
RANKS = [
    (MOST, CALL, "", "accuracy(scores, labels, topk=(1, 5))", ["2"]),
    (MOST, CALL, "", "accuracy(scores, labels, (1, 5))", ["2"]),
    (MOST, CALL, "TOPK = (1, 5)", "accuracy(scores, labels, TOPK)", ["2"]),
    (MOST, "torch.topk(output, maxk, 1)", "", "accuracy(scores, labels, topk=[1, 5])",
     ["2"]),
    ("pass", "torch.topk(output, k=5, dim=1)", "", "accuracy(scores, labels)",
     ["min(5, output.size(1))"]),
    ("pass", "output.topk(5)", "", "accuracy(scores, labels)",
     ["min(5, output.size(1))"]),
]  # fmt: skip


def find_errors(folder: Path, classes: int, *parts: str) -> list[Finding]:
    most, call, before, shown = parts
    text = NET.format(most=most, call=call, before=before, shown=shown, classes=classes)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(("most", "call", "before", "shown", "edits"), RANKS)
def test_fewer_of_the_largest_are_asked_for(
    most: str, call: str, before: str, shown: str, edits: list[str], tmp_path: Path
) -> None:
    (finding,) = find_errors(tmp_path, 3, most, call, before, shown)
    assert [edit.text for edit in finding.fixes[0].edits] == edits
    assert finding.fixes[0].checked
    assert not any("Linear" in fix.message for fix in finding.fixes)


def test_as_many_as_there_are_classes_are_quiet(tmp_path: Path) -> None:
    shown = "accuracy(scores, labels, topk=(1, 5))"
    assert not find_errors(tmp_path, 5, MOST, CALL, "", shown)


def test_the_largest_of_the_samples_are_not_cut(tmp_path: Path) -> None:
    text = "import torch\nx = torch.rand(3, 10)\nprint(torch.topk(x, 5, dim=0)[0])\n"
    (finding,) = [
        f for f in rehearsed(tmp_path, text).findings if f.severity == "error"
    ]
    assert not any("min(" in fix.message for fix in finding.fixes)
