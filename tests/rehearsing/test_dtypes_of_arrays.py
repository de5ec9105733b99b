"""The line that gave an array its dtype, behind the batches of a loader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

{}
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
for xb, yb in DataLoader(data, batch_size=4):
    loss = criterion(model(xb), yb)
    loss.backward()
"""
CLASS = """\
class Rows(Dataset):
    def __init__(self):
        self.rows = {rows}
        self.labels = {labels}

    def __len__(self):
        return 8

    def __getitem__(self, i):
        row = torch.from_numpy(self.rows[i])
        return row, torch.as_tensor(self.labels[i])

data = Rows()
"""
FLOATS = "np.zeros((8, 4), dtype=np.float32)"
LABELS = "np.arange(8) % 3"


@pytest.mark.parametrize(
    ("lines", "label", "line"),
    [
        (
            "rows = np.random.rand(8, 4)\nlabels = torch.arange(8) % 3\n"
            "data = TensorDataset(torch.from_numpy(rows), labels)",
            "float64 comes from `np.random.rand(8, 4)`",
            6,
        ),
        (
            "rows = torch.rand(8, 4)\nlabels = np.array([0, 1] * 4, dtype=np.int32)\n"
            "y = torch.from_numpy(labels)\ndata = TensorDataset(rows, y)",
            "int32 comes from `np.array([0, 1] * 4, dtype=np.int32)`",
            7,
        ),
        (
            CLASS.format(rows="np.ones((8, 4))", labels=LABELS),
            "float64 comes from `np.ones((8, 4))`",
            8,
        ),
        (
            CLASS.format(rows=FLOATS, labels=f"({LABELS}).astype(np.int32)"),
            "int32 comes from `(np.arange(8) % 3).astype(np.int32)`",
            9,
        ),
        (
            "def load():\n    rows = np.random.rand(8, 4) * 2\n"
            "    return torch.from_numpy(rows), torch.arange(8) % 3\n"
            "x, y = load()\ndata = TensorDataset(x, y)",
            "float64 comes from `np.random.rand(8, 4)`",
            7,
        ),
    ],
)
def test_the_line_that_made_the_array_is_told(
    tmp_path: Path, lines: str, label: str, line: int
) -> None:
    (error,) = rehearsed(tmp_path, PROGRAM.format(lines)).findings
    assert error.code == "dtype-mismatch"
    places = {place.message: place.span.line for place in error.related}
    assert places.get(label) == line


def test_a_scaler_makes_float64(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    lines = (
        "from sklearn.preprocessing import StandardScaler\n"
        "rows = np.random.rand(8, 4).astype(np.float32)\n"
        "scaler = StandardScaler()\nrows = scaler.fit_transform(rows.astype(float))\n"
        "data = TensorDataset(torch.from_numpy(rows), torch.arange(8) % 3)"
    )
    (error,) = rehearsed(tmp_path, PROGRAM.format(lines)).findings
    messages = [place.message for place in error.related]
    assert messages[0].startswith("float64 comes from `scaler.fit_transform(")


def test_no_line_is_told_where_another_decided(tmp_path: Path) -> None:
    rows = "np.load('rows.npy') if False else torch.rand(8, 4).double()"
    lines = f"rows = {rows}\ndata = TensorDataset(rows, torch.arange(8) % 3)"
    (error,) = rehearsed(tmp_path, PROGRAM.format(lines)).findings
    assert not any("np.load" in place.message for place in error.related)
