"""Models whose head is renewed for more classes and whose loss is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.classes = classes
        self.body = nn.Linear(6, 8)
        self.head = nn.Linear(8, 1)
        {loss}

    def renew(self, classes):
        {renewed}

    def forward(self, x, y):
        scores = self.head(self.body(x).relu())
        if self.classes == 2:
            return self.loss(scores.flatten(), y.float())
        return self.loss(scores, y)


net = Net()
for classes in (2, 5):
    if classes > 2:
        {called}
    net(torch.randn(12, 6), torch.randint(classes, (12,))).backward()
"""
PLAIN = "self.loss = nn.BCEWithLogitsLoss()"
CHOSEN = """\
if self.classes > 2:
            self.loss = nn.CrossEntropyLoss(label_smoothing=0.1)
        else:
            self.loss = nn.BCEWithLogitsLoss()"""
OF_ARGUMENT = """\
self.loss = nn.CrossEntropyLoss() if classes > 2 else nn.BCEWithLogitsLoss()"""
RENEWED = "self.classes = classes\n        self.head = nn.Linear(8, classes)"
BY_LINES = "net.classes = classes\n        net.head = nn.Linear(8, classes)"
SMOOTHED = "nn.CrossEntropyLoss(label_smoothing=0.1)"


def _find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    ("loss", "renewed", "called", "edits"),
    [
        (PLAIN, RENEWED, "net.renew(classes)", ["self.loss = nn.CrossEntropyLoss()"]),
        (
            CHOSEN,
            RENEWED,
            "net.renew(classes)",
            [
                f"self.loss = {SMOOTHED} if self.classes > 2"
                " else nn.BCEWithLogitsLoss()",
                f"self.loss = {SMOOTHED}",
            ],
        ),
        (
            OF_ARGUMENT,
            RENEWED,
            "net.renew(classes)",
            ["self.loss = nn.CrossEntropyLoss()"],
        ),
        (PLAIN, "pass", BY_LINES, ["net.loss = nn.CrossEntropyLoss()"]),
        (CHOSEN, "pass", BY_LINES, [f"net.loss = {SMOOTHED}"]),
    ],
)
def test_the_loss_is_renewed_beside_the_head(
    loss: str, renewed: str, called: str, edits: list[str], tmp_path: Path
) -> None:
    text = SCRIPT.format(loss=loss, renewed=renewed, called=called)
    (finding,) = _find_errors(tmp_path, text)
    assert finding.code == "target-shape"
    assert [fix.message for fix in finding.fixes] == [f"`{edit}`" for edit in edits]
    assert finding.fixes[0].checked


def test_a_head_that_nothing_renews_has_the_loss_it_was_built_with(
    tmp_path: Path,
) -> None:
    text = SCRIPT.format(loss=PLAIN, renewed="pass", called="net.classes = 5")
    text = text.replace("nn.Linear(8, 1)", "nn.Linear(8, 5)").replace("(2, 5)", "(5,)")
    (finding,) = _find_errors(tmp_path, text)
    assert all("self.loss = " not in fix.message for fix in finding.fixes)


@pytest.mark.parametrize(
    "renewed", [f"{RENEWED}\n        self.loss = nn.CrossEntropyLoss()"]
)
def test_a_loss_that_is_renewed_is_quiet(renewed: str, tmp_path: Path) -> None:
    text = SCRIPT.format(loss=PLAIN, renewed=renewed, called="net.renew(classes)")
    assert not _find_errors(tmp_path, text)
