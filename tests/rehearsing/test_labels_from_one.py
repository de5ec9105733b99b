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
    assert finding.fixes[0].message in ("`b - 1`", f"`{labels} - 1`")


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


ITEMS = """\
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Reviews(Dataset):
    def __init__(self):
        self.x = torch.randn(60, 8)
        self.y = [random.randint({least}, {least} + 3) for _ in range(60)]
    def __len__(self):
        return 60
    def __getitem__(self, i):
        label = self.y[i]
        return self.x[i], {label}

model = nn.Linear(8, 4)
criterion = nn.CrossEntropyLoss()
for x, y in DataLoader(Reviews(), batch_size=30):
    scores = model(x)
    loss = criterion(scores, y)
    loss.backward()
    {after}
"""
CORRECT = "correct = (scores.argmax(1) == y).sum().item()"


@pytest.mark.parametrize(
    ("label", "fix"),
    [
        ("torch.tensor(label)", "`label - 1`"),
        ("torch.as_tensor(self.y[i])", "`self.y[i] - 1`"),
        ("label", "`label - 1`"),
        ("self.y[i]", "`self.y[i] - 1`"),
    ],
)
def test_labels_of_items_are_one_lower_where_they_are_made(
    label: str, fix: str, tmp_path: Path
) -> None:
    program = ITEMS.format(label=label, least=1, after=CORRECT)
    (finding,) = rehearsed(tmp_path, program).findings
    assert finding.fixes
    assert finding.fixes[0].message == fix
    assert not any("y - 1" in shown.message for shown in finding.fixes)


def test_a_list_of_labels_is_one_lower_as_a_tensor(tmp_path: Path) -> None:
    labels = "torch.tensor([i % 3 + 1 for i in range(60)])"
    (finding,) = find_errors(tmp_path, labels, COMPARED)
    assert finding.fixes
    assert finding.fixes[0].message == f"`{labels} - 1`"


def test_labels_of_items_from_0_are_quiet(tmp_path: Path) -> None:
    program = ITEMS.format(label="torch.tensor(label)", least=0, after=CORRECT)
    assert not rehearsed(tmp_path, program).findings


IGNORING = """\
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

net = nn.Conv2d(3, 5, 1)
images, rows = torch.randn(4, 3, 6, 6), np.arange(144).reshape(4, 6, 6) % 5 + 1
rows[:, 0] = {ignored}
masks = torch.from_numpy(rows)
scores = net(images).permute(0, 2, 3, 1).reshape(-1, 5)
F.cross_entropy(scores, {labels}{setting}).backward()
"""
LOWER = "torch.where(masks == 255, masks, masks - 1)"


@pytest.mark.parametrize("labels", ["masks.reshape(-1)", "masks.flatten()"])
def test_labels_that_are_ignored_stay(labels: str, tmp_path: Path) -> None:
    text = IGNORING.format(ignored=255, labels=labels, setting=", ignore_index=255")
    found = rehearsed(tmp_path, text).findings
    (finding,) = [finding for finding in found if finding.severity == "error"]
    shown = [fix.message for fix in finding.fixes]
    assert f"`{labels} - 1`" not in shown
    assert shown[0] == f"`{LOWER}`"


def test_without_labels_to_ignore_all_are_shifted(tmp_path: Path) -> None:
    text = IGNORING.format(ignored=1, labels="masks.reshape(-1)", setting="")
    found = rehearsed(tmp_path, text).findings
    (finding,) = [finding for finding in found if finding.severity == "error"]
    assert all("torch.where" not in fix.message for fix in finding.fixes)


def test_labels_from_0_with_some_to_ignore_are_quiet(tmp_path: Path) -> None:
    labels = "(masks - 1).clamp(0, 4).reshape(-1)"
    text = IGNORING.format(ignored=255, labels=labels, setting=", ignore_index=255")
    found = rehearsed(tmp_path, text).findings
    assert not [finding for finding in found if finding.severity == "error"]
