"""Data sets that scale all rows in front of the condition that keeps some of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.test_early_statistics import SCALERS

PROGRAM = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
SCALERS

class Series(Dataset):
    def __init__(self, rows, flag="train", train=True, ratio=0.8):
BODY

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return torch.tensor(self.rows[at], dtype=torch.float32)


rows = np.random.default_rng(0).normal(size=(60, 4))
training = DataLoader(Series(rows), 16, shuffle=True)
later = DataLoader(Series(rows, "test", False), 16)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in training:
    optimizer.zero_grad()
    (model(batch) - batch).pow(2).mean().backward()
    optimizer.step()
with torch.no_grad():
    total = sum((model(b) - b).pow(2).sum().item() for b in later) / len(later.dataset)
print(total)
"""
SCALED = "scaled = StandardScaler().fit_transform(rows)  # here\n"
THREE = """
n, m = int(len(rows) * ratio), int(len(rows) * 0.9)
if flag == "train":
    self.rows = scaled[:n]
elif flag == "val":
    self.rows = scaled[n:m]
else:
    self.rows = scaled[m:]
"""
WRONG = {
    "three parts": (
        SCALED + THREE,
        "`StandardScaler().fit(rows[:int(len(rows) * ratio)]).transform(rows)`",
    ),
    "a flag": (
        """
        scaler = MinMaxScaler()
        rows = scaler.fit_transform(rows)  # here
        n = int(len(rows) * ratio)
        if train:
            rows = rows[:n]
        else:
            rows = rows[n:]
        self.rows = rows
        """,
        "`scaler.fit(rows[:int(len(rows) * ratio)]).transform(rows)`",
    ),
    "an expression": (
        SCALED + 'self.rows = scaled[:48] if flag == "train" else scaled[48:]',
        "`StandardScaler().fit(rows[:48]).transform(rows)`",
    ),
    "a scaler of the object": (
        """
        self.scaler = StandardScaler()
        self.scaler.fit(rows)
        scaled = self.scaler.transform(rows)  # here
        """
        + indent(THREE, " " * 8),
        "",
    ),
}


def told(folder: Path, body: str) -> list[tuple[str, list[str]]]:
    """The lines at which data are scaled too early, and the edits for them."""
    text = PROGRAM.replace("BODY", indent(dedent(body).strip(), " " * 8))
    text = text.replace("SCALERS", SCALERS)
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (
            lines[found.span.line - 1] if found.span else "",
            [fix.message for fix in found.fixes if fix.checked],
        )
        for found in report.findings
        if found.code == "fitted-before-split"
    ]


@pytest.mark.parametrize(("body", "edit"), WRONG.values(), ids=WRONG)
def test_all_rows_are_known_before_a_branch_keeps_some(
    tmp_path: Path, body: str, edit: str
) -> None:
    ((line, edits),) = told(tmp_path, body)
    assert line.endswith("# here")
    assert edits[:1] == ([edit] if edit else [])


RIGHT = {
    "fitted on the first rows": (
        "n = int(len(rows) * ratio)\n"
        "scaled = StandardScaler().fit(rows[:n]).transform(rows)\n" + THREE
    ),
    "first rows under their own name": (
        "first = rows[:48]\nscaler = StandardScaler().fit(first)\n"
        "scaled = scaler.transform(rows)\n" + THREE
    ),
    "each part where it is kept": """
        if flag == "train":
            self.rows = StandardScaler().fit_transform(rows[:48])
        else:
            self.rows = StandardScaler().fit(rows[:48]).transform(rows[48:])
    """,
    "rows that another condition keeps": (
        SCALED + "self.rows = scaled[:48] if ratio > 0.5 else scaled[12:]"
    ),
    "both keep the same rows": (
        SCALED + 'self.rows = scaled[:48] if flag == "train" else scaled[:12]'
    ),
    "raw rows are kept": (SCALED + THREE.replace("scaled", "rows")),
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_statistics_of_the_first_rows_are_right(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []
