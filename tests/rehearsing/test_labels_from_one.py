"""Labels that begin with 1 where a loss reads classes from 0 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(60, 5)
y = {labels}
loader = DataLoader(TensorDataset(x[:40], y[:40]), batch_size=20)
tests = DataLoader(TensorDataset(x[40:], y[40:]), batch_size=20)
model = nn.Linear(5, 3)
for a, b in loader:
    loss = nn.functional.cross_entropy(model(a), b)
    loss.backward()
{after}
"""
OF_DATA = "torch.tensor(np.arange(60) % 3 + 1)"
COMPUTED = "torch.arange(60) % 3 + 1"
COMPARED = "for a, c in tests:\n    print((model(a).argmax(1) == c).sum())"


def find_errors(folder: Path, labels: str, after: str = "") -> list[Finding]:
    findings = rehearsed(folder, PROGRAM.format(labels=labels, after=after)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("labels", [OF_DATA, COMPUTED])
def test_the_range_of_the_labels_is_told(labels: str, tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, labels)
    assert "`b` holds 1 to 3: no label is 0" in finding.lines
    assert any(fix.message == "`b - 1`" for fix in finding.fixes)


@pytest.mark.parametrize("labels", [OF_DATA, COMPUTED])
def test_labels_that_are_compared_elsewhere_keep_their_numbers_in_the_loss(
    labels: str, tmp_path: Path
) -> None:
    (finding,) = find_errors(tmp_path, labels, COMPARED)
    assert not any(fix.message == "`b - 1`" for fix in finding.fixes)


@pytest.mark.parametrize(
    "labels", ["torch.tensor(np.arange(60) % 4)", "torch.tensor(np.arange(60) % 2 + 2)"]
)
def test_other_ranges_are_not_told(labels: str, tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, labels)
    assert not any("no label is 0" in line for line in finding.lines)


def test_classes_from_0_are_quiet(tmp_path: Path) -> None:
    assert not find_errors(tmp_path, "torch.tensor(np.arange(60) % 3)", COMPARED)
