"""Losses that ignore a class which a count of right answers takes for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

text, codes = torch.randint(30, (40, 7)), torch.randint(9, (40, 7))
model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 9))
optimizer = torch.optim.Adam(model.parameters())
for a, b in DataLoader(TensorDataset(text, codes), 8):
    optimizer.zero_grad()
    LOSS.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    made = model(text).argmax(2)
    COUNT
"""
LOSS = "F.cross_entropy(model(a).transpose(1, 2), b, ignore_index=0)"
MEAN = "print((made == codes).float().mean())"
WRONG = {
    "a mean": (LOSS, MEAN),
    "a sum": (LOSS, "print((made == codes).sum().item() / codes.numel())"),
    "a layer": (
        "nn.CrossEntropyLoss(ignore_index=3)(model(a).transpose(1, 2), b)", MEAN
    ),
}  # fmt: skip
RIGHT = {
    "no label is ignored": (LOSS.replace(", ignore_index=0", ""), MEAN),
    "no class": (LOSS.replace("=0", "=9"), MEAN),
    "a mask": (
        LOSS,
        "known = codes != 0\n    print(((made == codes) & known).sum() / known.sum())",
    ),
    "a mask by an index": (
        LOSS, "print((made[codes > 0] == codes[codes > 0]).float().mean())"
    ),
    "padding": (LOSS, f"PAD = 0\n    {MEAN}"),
    "pixels without a label": (LOSS, f"# 0 is unlabelled\n    {MEAN}"),
    "no count": (LOSS, "print(made[0])"),
}  # fmt: skip


def _list_messages(folder: Path, loss: str, count: str) -> list[str]:
    """What is said of labels that the loss ignores."""
    report = rehearsed(folder, SCRIPT.replace("LOSS", loss).replace("COUNT", count))
    assert report.complete
    return [
        finding.message
        for finding in report.findings
        if finding.code == "ignored-labels-counted"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_an_ignored_class_is_told(name: str, tmp_path: Path) -> None:
    (message,) = _list_messages(tmp_path, *WRONG[name])
    assert "one of the 9 classes" in message


@pytest.mark.parametrize("name", RIGHT)
def test_labels_that_are_left_out_are_quiet(name: str, tmp_path: Path) -> None:
    assert _list_messages(tmp_path, *RIGHT[name]) == []
