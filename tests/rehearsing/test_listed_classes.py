"""Numbers of classes that are fewer than the names that a program lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NAMES = ["ant", "bee", "cat", "dog", "elk", "fox"]
{head}
y = {labels}
data = TensorDataset(torch.randn(60, 4), y)
loader = DataLoader(data, batch_size=20, shuffle={mixed})

def build({parameter}):
    return nn.Linear(4, {outputs})

model = build()
loss_fn = nn.CrossEntropyLoss()
for a, b in loader:
    loss_fn(model(a), b).backward()
"""
ALL = "torch.arange(60) % len(NAMES)"


def find_errors(folder: Path, **parts: str) -> list[Finding]:
    words = {"head": "", "labels": ALL, "mixed": "True", "parameter": "", **parts}
    findings = rehearsed(folder, PROGRAM.format(**words)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(
    "parts",
    [
        {"parameter": "num_labels=4", "outputs": "num_labels"},
        {"head": "NUM_CLASSES = 4", "outputs": "NUM_CLASSES"},
        {"head": 'CONFIG = {"n_classes": 4}', "outputs": 'CONFIG["n_classes"]'},
    ],
)
def test_the_names_are_counted(parts: dict[str, str], tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, **parts)
    assert [fix.message for fix in finding.fixes] == ["`len(NAMES)` for `4`"]
    assert finding.fixes[0].checked


def test_labels_beyond_the_names_are_not_of_them(tmp_path: Path) -> None:
    parts = {"parameter": "num_labels=4", "outputs": "num_labels"}
    (finding,) = find_errors(tmp_path, labels="torch.arange(60) % 9", **parts)
    assert not any("len(NAMES)" in fix.message for fix in finding.fixes)


@pytest.mark.parametrize(
    ("mixed", "words"),
    [("True", "but `b` holds 4"), ("False", "but `b` at [4] is 4")],
)
def test_shuffled_batches_have_no_places(
    mixed: str, words: str, tmp_path: Path
) -> None:
    labels = "torch.arange(60) % 5"
    (finding,) = find_errors(tmp_path, mixed=mixed, labels=labels, outputs="4")
    assert finding.message.endswith(words)


def test_as_many_outputs_as_names_are_quiet(tmp_path: Path) -> None:
    assert not find_errors(tmp_path, outputs="len(NAMES)")
