"""The backbone of a checkpoint, loaded where `strict=True` is written already."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 8))
class Classifier(Backbone):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(8, 100)
class Regressor(Backbone):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(8, 2)
    def forward(self, x):
        return self.last(self.stem(x))

torch.save(Classifier().state_dict(), "classes.pt")
net = Regressor()
net.load_state_dict(torch.load("classes.pt"){strict})
"""
TRAINED = """\
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
"""
USED = "net.eval()\nwith torch.no_grad():\n    print(net(torch.randn(8, 4)))\n"


@pytest.mark.parametrize("strict", ["", ", strict=True", ", True"])
def test_backbone_of_a_classifier(tmp_path: Path, strict: str) -> None:
    findings = rehearsed(tmp_path, SCRIPT.format(strict=strict) + TRAINED).findings
    (finding,) = [f for f in findings if f.code == "state-dict-mismatch"]
    (fix,) = finding.fixes
    assert fix.message == "`strict=False`"
    assert fix.checked


def test_a_head_that_nobody_trains(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, SCRIPT.format(strict=", strict=True") + USED)
    (finding,) = findings.findings
    assert not finding.fixes


def test_a_head_of_another_name(tmp_path: Path) -> None:
    """Where its weights fit, they are not left out."""
    text = SCRIPT.format(strict=", strict=True").replace("100", "2") + TRAINED
    (finding,) = rehearsed(tmp_path, text).findings
    shown = [fix.message for fix in finding.fixes if fix.checked]
    assert shown
    assert not any("strict" in message for message in shown)
