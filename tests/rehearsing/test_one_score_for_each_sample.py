"""A cross entropy of one score for each sample, which has no classes to compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.nn import CrossEntropyLoss


class Net(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.head = nn.Linear(8, outputs)

    def forward(self, x):
        return {returned}


net = Net({outputs})
criterion = {criterion}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(16, 6), {target}
    optimizer.zero_grad()
    loss = {loss}
    loss.backward()
    optimizer.step()
with torch.no_grad():
    x, y = torch.randn(16, 6), {target}
    print({validation})
"""
HALVES = "torch.randint(0, 2, (16,)).float()"
LOGIT = "self.head(self.body(x))"
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "probabilities": (
        {"returned": f"torch.sigmoid({LOGIT})"},
        ["nn.BCELoss()", ".unsqueeze(1)"],
    ),
    "logits": ({}, ["nn.BCEWithLogitsLoss()", ".unsqueeze(1)"]),
    "imported by its name, and of doubles": (
        {"criterion": "CrossEntropyLoss(reduction='sum')",
         "target": HALVES.replace("float", "double")},
        ["torch.nn.BCEWithLogitsLoss(reduction='sum')", ".unsqueeze(1).float()"],
    ),
    "a function": (
        {"loss": "F.cross_entropy(net(x), y)"},
        ["F.binary_cross_entropy_with_logits", ".unsqueeze(1)"],
    ),
    "a keyword": (
        {"loss": "criterion(net(x), target=y)"},
        ["nn.BCEWithLogitsLoss()", ".unsqueeze(1)"],
    ),
    "a validation, too": (
        {"validation": "criterion(net(x), y)"},
        ["nn.BCEWithLogitsLoss()", ".unsqueeze(1)", ".unsqueeze(1)"],
    ),
    "numbers of classes for a squeezed column": (
        {"returned": f"{LOGIT}.squeeze(1)", "target": "torch.randint(0, 2, (16,))"},
        ["nn.BCEWithLogitsLoss()", ".float()"],
    ),
}  # fmt: skip


def find_errors(folder: Path, settings: dict[str, str]) -> list[Finding]:
    """Return the errors of a training with these lines."""
    lines = {
        "returned": LOGIT, "outputs": "1", "criterion": "nn.CrossEntropyLoss()",
        "target": HALVES, "loss": "criterion(net(x), y)", "validation": "1", **settings,
    }  # fmt: skip
    findings = rehearsed(folder, SCRIPT.format(**lines)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("name", CASES)
def test_one_score_for_each_sample_gets_a_binary_loss(
    name: str, tmp_path: Path
) -> None:
    settings, edits = CASES[name]
    (finding,) = find_errors(tmp_path, settings)
    assert any("one score for each sample" in n.message for n in finding.related)
    (fix,) = finding.fixes
    assert fix.checked
    assert [edit.text for edit in fix.edits] == edits


@pytest.mark.parametrize(
    ("outputs", "target"),
    [
        ("3", "torch.randint(0, 3, (16,))"),
        ("3", "torch.rand(16, 3).softmax(1)"),
    ],
)
def test_classes_are_compared_quietly(
    outputs: str, target: str, tmp_path: Path
) -> None:
    assert find_errors(tmp_path, {"outputs": outputs, "target": target}) == []


def test_several_scores_keep_their_loss(tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, {"outputs": "3"})
    assert not any("BCE" in fix.message for fix in finding.fixes)
