"""Tensors that are to be made of texts: of columns of a table, of names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import pandas as pd
import torch
from torch import nn

df = pd.DataFrame({{"kind": ["cat", "dog", "bird"] * 4, "size": [1.0, 2.0, 0.5] * 4}})
settings = {{"width": 64, "depth": 2}}
{numbers}
x = torch.tensor(df["size"].values, dtype=torch.float32).unsqueeze(1)
{labels}
model = nn.Linear(1, 3)
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
print(loss.item())
"""
COMPREHENSION = (
    'names = sorted(df["kind"].unique())\n'
    "number = {name: i for i, name in enumerate(names)}"
)
ZIPPED = 'names = df["kind"].unique()\nnumber = dict(zip(names, range(len(names))))'
LITERAL = 'number = {"bird": 0, "cat": 1, "dog": 2}'
LISTED = 'names = ["bird", "cat", "dog"]'
CODES = 'df["kind"].astype("category").cat.codes'
VALUES = 'y = torch.tensor(df["kind"].values)'
WRONG = [
    (COMPREHENSION, VALUES, 'df["kind"].map(number)'),
    (ZIPPED, 'y = torch.tensor(df["kind"].tolist())', 'df["kind"].map(number)'),
    (LITERAL, 'kind = df["kind"]\ny = torch.tensor(kind.values)', "kind.map(number)"),
    (LISTED, VALUES, 'df["kind"].map(names.index)'),
    ("", VALUES, f'{CODES}.astype("int64")'),
    ("", 'y = torch.tensor(df["kind"].values, dtype=torch.long)', CODES),
    (
        LITERAL,
        'y = torch.from_numpy(df["kind"].to_numpy())',
        'df["kind"].map(number)',
    ),
]


@pytest.mark.parametrize(("numbers", "labels", "new"), WRONG)
def test_class_names_of_a_column_become_numbers(
    tmp_path: Path, numbers: str, labels: str, new: str
) -> None:
    pytest.importorskip("pandas")
    text = PROGRAM.format(numbers=numbers, labels=labels)
    finding = rehearsed(tmp_path, text).findings[-1]
    assert "a tensor is made of numbers" in finding.message
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("numbers", "labels"),
    [
        (COMPREHENSION, 'y = torch.tensor(df["kind"].map(number).values)'),
        ("", f"y = torch.tensor({CODES}.values).long()"),
    ],
)
def test_numbers_of_a_column_are_quiet(
    tmp_path: Path, numbers: str, labels: str
) -> None:
    pytest.importorskip("pandas")
    text = PROGRAM.format(numbers=numbers, labels=labels)
    assert rehearsed(tmp_path, text).findings == ()


NAMES = """\
import torch

{table}
rows = ["dog", "cat", "dog"]
y = torch.tensor({rows})
print(y.sum())
"""


@pytest.mark.parametrize(
    ("table", "rows", "new"),
    [
        ('number = {"cat": 0, "dog": 1}', "rows", "[number[each] for each in rows]"),
        (
            'names = ["cat", "dog"]\n'
            "number = {name: at for at, name in enumerate(names)}",
            "[row for row in rows]",
            "number[row]",
        ),
    ],
)
def test_names_in_a_list_become_numbers(
    tmp_path: Path, table: str, rows: str, new: str
) -> None:
    text = NAMES.format(table=table, rows=rows)
    finding = rehearsed(tmp_path, text).findings[-1]
    assert f"`{new}`" in [fix.message for fix in finding.fixes if fix.checked]
