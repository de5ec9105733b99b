"""Functions that number the categories of each table that they get."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytest.importorskip("pandas")
SCRIPT = """\
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def survey(kinds, count):
    table = pd.DataFrame(np.random.randn(count, 2), columns=["a", "b"])
    table["kind"] = np.random.choice(kinds, count)
    return table


def encode(table):
    codes = table["kind"].astype(CATEGORY).cat.codes
    x = torch.tensor(table[["a", "b"]].to_numpy(), dtype=torch.float32)
    return x, torch.tensor(codes.to_numpy(dtype=np.int64))


train = survey(["ash", "elm", "fir"], 40)
OTHER = survey(["ash", "fir"], 20)
x, y = encode(train)
x_new, y_new = encode(OTHER)
net = nn.Linear(2, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(TRAINED_ON), batch_size=8):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(a), b).backward()
    optimizer.step()
with torch.no_grad():
    print((net(x_new).argmax(1) == y_new).float().mean())
"""
OWN = '"category"'
AGREED = 'pd.CategoricalDtype(["ash", "elm", "fir"])'
BOTH = "torch.cat([x, x_new]), torch.cat([y, y_new])"
EDIT = '`pd.CategoricalDtype(sorted(train["kind"].unique()))`'


def find_edits(folder: Path, category: str, other: str, data: str) -> list[str]:
    """Return the first edits of what is found of one of the scripts."""
    text = SCRIPT.replace("CATEGORY", category).replace("OTHER", other)
    findings = rehearsed(folder, text.replace("TRAINED_ON", data)).findings
    assert {finding.code for finding in findings} <= {"fitted-anew"}
    return [finding.fixes[0].message for finding in findings]


@pytest.mark.parametrize("other", ["field", "test"])
def test_another_table_is_numbered_on_its_own(other: str, tmp_path: Path) -> None:
    assert find_edits(tmp_path, OWN, other, "x, y") == [EDIT]


def test_the_categories_of_a_list_are_quiet(tmp_path: Path) -> None:
    assert find_edits(tmp_path, AGREED, "field", "x, y") == []


def test_a_second_table_that_is_trained_on_is_quiet(tmp_path: Path) -> None:
    assert find_edits(tmp_path, OWN, "more", BOTH) == []
