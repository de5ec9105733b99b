"""Where an operand that does not fit, or the items of its batch, were first made."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

ITEMS = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.x = torch.randn(40, {width})
        self.y = torch.tensor([i % 3 for i in range(40)], dtype={dtype})

    def __len__(self):
        return 40

    def __getitem__(self, i):
        row = self.x[i]
        return row, self.y[i]

model = nn.Linear(4, 3)
loss_fn = nn.CrossEntropyLoss()
for x, y in DataLoader(Rows(), batch_size=8):
    loss_fn(model(x), y).backward()
"""
ARRAYS = """\
import numpy as np
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows
        self.layer = nn.Linear(4, 2)

    def forward(self):
        return self.layer(self.rows * 2)

rows = {rows}
model = Model(rows)
for step in range(2):
    model().sum().backward()
"""


def find_errors(folder: Path, text: str) -> list[Finding]:
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


def find_first(finding: Finding) -> list[tuple[str, int]]:
    return [
        (related.message, related.span.line)
        for related in finding.related
        if related.message.startswith(("its items", "float64 comes"))
    ]


def test_the_dtype_of_items_is_followed_into_the_data_set(tmp_path: Path) -> None:
    text = ITEMS.format(width=4, dtype="torch.float32")
    (finding,) = find_errors(tmp_path, text)
    ((message, line),) = find_first(finding)
    assert message.startswith("its items are float32 by `torch.tensor")
    assert line == 9


def test_the_size_of_items_is_followed_into_the_data_set(tmp_path: Path) -> None:
    text = ITEMS.format(width=5, dtype="torch.int64")
    (finding,) = find_errors(tmp_path, text)
    assert find_first(finding) == [("its items come from `self.x[i]`", 15)]


@pytest.mark.parametrize(
    "rows", ["torch.from_numpy(np.random.randn(3, 4))", "torch.tensor(np.eye(4))"]
)
def test_the_dtype_of_an_array_is_told(rows: str, tmp_path: Path) -> None:
    (finding,) = find_errors(tmp_path, ARRAYS.format(rows=rows))
    assert find_first(finding) == [(f"float64 comes from `{rows}`", 14)]


def test_items_that_fit_are_quiet(tmp_path: Path) -> None:
    assert not find_errors(tmp_path, ITEMS.format(width=4, dtype="torch.int64"))


YIELDED = """\
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 2)
    def forward(self, x):
        return self.mix(x)

def batches(x, y):
    for start in range(0, 20, 5):
        {made}

data = np.random.default_rng(0).normal(size=(20, 4)){cast}
labels = np.arange(20) % 2
net = Net()
for inputs, targets in batches(data, labels):
    nn.functional.cross_entropy(net(inputs), targets).backward()
"""


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (
            "yield torch.from_numpy(x[start:start + 5]),"
            " torch.from_numpy(y[start:start + 5])",
            14,
        ),
        (
            "part = slice(start, start + 5)\n"
            "        yield torch.from_numpy(x[part]), torch.from_numpy(y[part])",
            15,
        ),
    ],
)
def test_an_array_is_named_where_a_function_yields_it_as_a_tensor(
    made: str, line: int, tmp_path: Path
) -> None:
    text = YIELDED.format(made=made, cast="")
    (finding,) = rehearsed(tmp_path, text).findings
    (place,) = [p for p in finding.related if "float64 comes from" in p.message]
    assert "torch.from_numpy(x[" in place.message
    assert place.span.line == line


def test_an_array_of_float32_is_quiet(tmp_path: Path) -> None:
    made = "yield torch.from_numpy(x[:5]), torch.from_numpy(y[:5])"
    text = YIELDED.format(made=made, cast=".astype(np.float32)")
    assert not rehearsed(tmp_path, text).findings
