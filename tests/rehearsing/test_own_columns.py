"""Columns that a table for evaluation has of its own values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import pandas as pd
import torch
from torch import nn

train = pd.DataFrame({{"kind": ["a", "b", "c"] * 8, "size": [1.0, 2.0, 3.0] * 8}})
test = pd.DataFrame({{"kind": ["a", "d", "c"], "size": [1.0, 2.0, 3.0]}})


def encode(table):
    return pd.get_dummies(table["kind"], dtype=float)


{columns}
x = torch.tensor(train_x.values, dtype=torch.float32)
y = torch.tensor(train["size"].values, dtype=torch.float32)
model = nn.Linear(x.shape[1], 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = (model(x).squeeze(1) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(model(torch.tensor(test_x.values, dtype=torch.float32)).shape)
"""
REINDEXED = ".reindex(columns=train_x.columns, fill_value=0)"
WRONG = {
    "direct": (
        'train_x = pd.get_dummies(train["kind"], dtype=float)\n'
        'test_x = pd.get_dummies(test["kind"], dtype=float)',
        f'`pd.get_dummies(test["kind"], dtype=float){REINDEXED}`',
    ),
    "a function": (
        "train_x = encode(train)\ntest_x = encode(test)",
        f"`encode(test){REINDEXED}`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_columns_of_training_are_kept(case: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    columns, fix = WRONG[case]
    findings = rehearsed(tmp_path, SCRIPT.format(columns=columns)).findings
    (finding,) = [f for f in findings if f.code == "fitted-anew"]
    assert [one.message for one in finding.fixes if one.checked] == [fix]


RIGHT = {
    "reindexed": f"train_x = encode(train)\ntest_x = encode(test){REINDEXED}",
    "together": "both = encode(pd.concat([train, test]))\n"
    "train_x, test_x = both[:24], both[24:]",
    "categories": 'kinds = pd.CategoricalDtype(["a", "b", "c"])\n'
    'train_x = encode(train.astype({"kind": kinds}))\n'
    'test_x = encode(test.astype({"kind": kinds}))',
    "one table": "train_x = test_x = encode(train)",
}


@pytest.mark.parametrize("case", RIGHT)
def test_columns_that_agree_are_quiet(case: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    findings = rehearsed(tmp_path, SCRIPT.format(columns=RIGHT[case])).findings
    assert not [f for f in findings if f.code == "fitted-anew"]


CODES = """\
import pandas as pd
import torch
from torch import nn

train = pd.DataFrame({{"kind": ["a", "b", "c"] * 8, "size": [1.0, 2.0, 3.0] * 8}})
test = pd.DataFrame({{"kind": ["c", "b", "c"], "size": [3.0, 2.0, 3.0]}})


def encode(table):
    return table["kind"].astype("category").cat.codes


{codes}
model = nn.Sequential(nn.Embedding(4, 2), nn.Linear(2, 1))
y = torch.tensor(train["size"].values, dtype=torch.float32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = (model(torch.tensor(train_x).long()).squeeze(1) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(model(torch.tensor(test_x).long()).shape)
"""
READ = (
    'train_x = train["kind"].cat.codes.tolist()\n'
    'test_x = test["kind"].cat.codes.tolist()'
)
NUMBERED = {
    "kept": (
        'train["kind"] = train["kind"].astype("category")\n'
        'test["kind"] = test["kind"].astype("category")\n' + READ,
        ['`pd.Categorical(test["kind"], categories=train["kind"].cat.categories)`'],
    ),
    "in a loop": (
        'for c in ["kind"]:\n    train[c] = train[c].astype("category")\n'
        '    test[c] = test[c].astype("category")\n' + READ,
        ["`pd.Categorical(test[c], categories=train[c].cat.categories)`"],
    ),
    "codes": (
        'train_x = train["kind"].astype("category").cat.codes.values\n'
        'test_x = test["kind"].astype("category").cat.codes.values',
        [
            '`pd.Categorical(test["kind"],'
            ' categories=train["kind"].astype("category").cat.categories).codes`'
        ],
    ),
    "factorize": (
        'train_x = pd.factorize(train["kind"])[0]\n'
        'test_x = pd.factorize(test["kind"])[0]',
        [],
    ),
    "a function": (
        "train_x = encode(train).values\ntest_x = encode(test).values",
        ['`pd.CategoricalDtype(sorted(train["kind"].unique()))`'],
    ),
}
AGREED = {
    "of training": 'train["kind"] = train["kind"].astype("category")\n'
    'test["kind"] = pd.Categorical(test["kind"], '
    'categories=train["kind"].cat.categories)\n' + READ,
    "a type": 'kinds = pd.CategoricalDtype(["a", "b", "c"])\n'
    'train["kind"] = train["kind"].astype(kinds)\n'
    'test["kind"] = test["kind"].astype(kinds)\n' + READ,
    "a map": 'kinds = {"a": 0, "b": 1, "c": 2}\n'
    'train_x = train["kind"].map(kinds).values\n'
    'test_x = test["kind"].map(kinds).values',
    "joined first": "both = pd.concat([train, test])\n"
    'codes = both["kind"].astype("category").cat.codes.values\n'
    "train_x, test_x = codes[:24], codes[24:]",
}


def find_numberings(folder: Path, codes: str) -> list[list[str]]:
    """The checked fixes of each finding of codes."""
    pytest.importorskip("pandas")
    report = rehearsed(folder, CODES.format(codes=codes))
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "fitted-anew"
    ]


@pytest.mark.parametrize("case", NUMBERED)
def test_categories_that_are_numbered_anew_are_told(case: str, tmp_path: Path) -> None:
    codes, fixes = NUMBERED[case]
    assert find_numberings(tmp_path, codes) == [fixes]


@pytest.mark.parametrize("case", AGREED)
def test_categories_with_one_numbering_are_quiet(case: str, tmp_path: Path) -> None:
    assert find_numberings(tmp_path, AGREED[case]) == []
