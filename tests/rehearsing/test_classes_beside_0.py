"""Labels that are 0 to the number of classes: a class more, and no label one less."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn

{head}
labels = torch.tensor({labels})

class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, HID)
        self.out = nn.Linear(HID, {outputs})

    def forward(self, x):
        return self.out(torch.relu(self.body(x)))

model = Tagger()
loss_fn = nn.CrossEntropyLoss({weight})
x = torch.randn(8, 6)
for epoch in range(2):
    loss_fn(model(x), labels).backward()
"""
FROM_0 = "[0, 1, 2, 3, 4, 5, 0, 2]"
FROM_1 = "[5, 1, 2, 3, 4, 5, 1, 2]"


def find_error(folder: Path, **parts: str) -> Finding:
    words = {"head": "HID, N_TAGS = 16, 5", "weight": "", "outputs": "N_TAGS", **parts}
    findings = rehearsed(folder, PROGRAM.format(**words)).findings
    (finding,) = [finding for finding in findings if finding.severity == "error"]
    return finding


@pytest.mark.long
@pytest.mark.parametrize(
    ("head", "weight"),
    [
        ("HID = 16\nN_TAGS = 5", ""),
        ("HID = 16\nN_TAGS = 5", "torch.tensor([0.2] + [1.0] * (N_TAGS - 1))"),
        ("HID = 16\nN_TAGS = 5\nW = torch.ones(N_TAGS)", "weight=W"),
    ],
)
def test_the_constant_of_head_and_weights_is_one_more(
    head: str, weight: str, tmp_path: Path
) -> None:
    finding = find_error(tmp_path, head=head, weight=weight, labels=FROM_0)
    assert finding.fixes[0].message == "`N_TAGS = 6`"
    assert finding.fixes[0].checked
    assert not any(" - 1" in fix.message for fix in finding.fixes)


def test_labels_from_1_on_are_one_less(tmp_path: Path) -> None:
    head = "HID = 16\nN_TAGS = 5"
    finding = find_error(tmp_path, head=head, labels=FROM_1)
    assert finding.fixes[0].message.endswith(" - 1`")


def test_a_width_is_no_number_of_classes(tmp_path: Path) -> None:
    head, labels = "HID = 5", FROM_0
    finding = find_error(tmp_path, head=head, outputs="HID", labels=labels)
    assert not any(fix.message == "`HID = 6`" for fix in finding.fixes)
