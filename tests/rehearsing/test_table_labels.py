"""Rows of pandas tables that are read by label where a position is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

HOUSES = """\
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

table = pd.DataFrame({{"area": [float(i) for i in range(40)],
                      "price": [2.0 * i for i in range(40)]}})
table = table.sample(frac=1.0, random_state=0)
rest = table.iloc[30:]

class Houses(Dataset):
    def __init__(self, frame):
        self.frame = frame
        self.x = torch.tensor(frame[["area"]].values, dtype=torch.float32)
        self.areas, self.y = frame["area"], frame["price"] / 10

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {items}

for x, y in DataLoader(Houses({frame}), batch_size=5):
    print(x.shape, y.shape)
"""
READS = [
    ("self.x[i], torch.tensor([self.y[i]])", ["self.y.iloc[i]"]),
    ("self.x[i], self.y.loc[i]", ["self.y.iloc[i]"]),
    ("self.areas[i], self.y[i]", ["self.areas.iloc[i]", "self.y.iloc[i]"]),
    ("self.x[i], self.frame['price'][i]", ["self.frame['price'].iloc[i]"]),
    ("self.x[i], self.frame.loc[i, 'price']", ["self.frame['price'].iloc[i]"]),
    ("self.x[i], self.frame.price[i]", ["self.frame.price.iloc[i]"]),
    ("self.x[i], self.frame[i]['price']", ["self.frame.iloc[i]"]),
]


def find_errors(folder: Path, items: str, frame: str = "rest") -> list[Finding]:
    text = HOUSES.format(items=items, frame=frame)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize(("items", "edits"), READS)
def test_a_row_is_read_by_its_position(
    items: str, edits: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    (finding,) = find_errors(tmp_path, items)
    assert "looks up" in finding.message
    assert [edit.text for edit in finding.fixes[0].edits] == edits
    assert finding.fixes[0].checked


def test_the_rows_that_keep_their_labels_are_named(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (finding,) = find_errors(tmp_path, "self.x[i], self.y[i]")
    assert "keeps the labels of the rows: those of `rest`" in finding.related[0].message
    assert finding.related[0].span.line == 8


@pytest.mark.parametrize(
    ("before", "items"),
    [
        ("area, price = self.areas[i], self.y[i]", "area, price"),
        ("area = self.areas[i]; price = self.y[i]", "area, price"),
        ("area = self.areas[i] / 2; x = self.x[i]", "area, self.y[i]"),
        ("area = self.areas[i]; price = PRICES[i]", "area, price"),
        ("area = self.areas[i]; self.seen[i] = area", "area, self.y[i]"),
    ],
)
def test_all_columns_of_a_function_are_read_by_position(
    before: str, items: str, tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    text = HOUSES.format(items=items, frame="rest")
    text = text.replace(f"return {items}", f"{before}; return {items}")
    prices = (
        "PRICES = dict(enumerate(range(40)))\n\nclass Houses(Dataset):\n    seen = {}"
    )
    text = text.replace("class Houses(Dataset):", prices)
    (finding,) = [
        f for f in rehearsed(tmp_path, text).findings if f.severity == "error"
    ]
    columns = ["self.areas.iloc[i]"]
    if "self.y[i]" in before + items:
        columns.append("self.y.iloc[i]")
    assert [edit.text for edit in finding.fixes[0].edits] == columns
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("items", "frame"),
    [
        ("self.x[i], self.y.iloc[i]", "rest"),
        ("self.x[i], self.y[i]", "rest.reset_index(drop=True)"),
        ("self.x[i], self.y[i]", "table"),
        ("self.x[i], self.y.loc[self.y.index[i]]", "rest"),
        ("self.x[i], self.y.values[i]", "rest"),
    ],
)
def test_rows_that_are_there_are_quiet(items: str, frame: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    assert not find_errors(tmp_path, items, frame)


COLUMN = """\
import pandas as pd
import torch
from torch import nn

table = pd.DataFrame({{"a": [float(i) for i in range(30)],
                      "kind": [i % 3 for i in range(30)]}})
{data}
scores = nn.Linear(1, 3)(torch.ones(30, 1))
nn.functional.cross_entropy(scores, y).backward()
"""


@pytest.mark.parametrize(
    "data",
    [
        "y = torch.tensor(table[['kind']].values)",
        "labels = table[['kind']]\ny = torch.from_numpy(labels.to_numpy())",
        "labels = table[['kind']].values\npd.qcut(table['a'], 3, labels=False)\n"
        "y = torch.as_tensor(labels, dtype=torch.long)",
    ],
)
def test_a_table_of_one_column_is_named_where_its_targets_have_a_dim_too_many(
    data: str, tmp_path: Path
) -> None:
    pytest.importorskip("pandas")
    (finding,) = rehearsed(tmp_path, COLUMN.format(data=data)).findings
    words = "`table[['kind']]` is a table of one column, (n, 1); `table['kind']` is"
    assert any(place.message.startswith(words) for place in finding.related)


def test_no_table_is_named_where_the_dim_was_added(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    data = "x = table[['a']]\ny = torch.tensor(table['kind'].values).unsqueeze(1)"
    (finding,) = rehearsed(tmp_path, COLUMN.format(data=data)).findings
    assert not any("table of one" in place.message for place in finding.related)


def test_targets_of_one_column_are_quiet(tmp_path: Path) -> None:
    data = "y = torch.tensor(table['kind'].values)"
    pytest.importorskip("pandas")
    assert not rehearsed(tmp_path, COLUMN.format(data=data)).findings
