"""Loops over data sets that have items and no `__iter__`: they end by the length."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch.utils.data import Dataset

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset


class Rows(Dataset):
    def __init__(self):
        self.rows = torch.rand(5, 2)

    def __len__(self):
        return 5

    def __getitem__(self, i):
        return self.rows[i]


class Lines(Dataset):
    def __getitem__(self, i):
        return ["a", "b", "c"][i]


rows, lines, count = {data}, Lines(), 0
for row in {loop}:
    count += 1
assert count == {count}, count
"""
DATA = {
    "tensors": "TensorDataset(torch.rand(5, 2))",
    "a class": "Rows()",
    "a part": "Subset(Rows(), [0, 1, 2, 3, 4])",
    "joined": "ConcatDataset([Subset(Rows(), [0, 1]), Subset(Rows(), [0, 1, 2])])",
}
LOOPS = {
    "rows": 5, "enumerate(rows)": 5, "list(rows)": 5, "zip(rows, range(9))": 5,
    "[row for row in rows]": 5, "iter(rows)": 5, "lines": 3, "list(lines)": 3,
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_over_a_data_set_ends(loop: str, tmp_path: Path) -> None:
    text = SCRIPT.format(data=DATA["a class"], loop=loop, count=LOOPS[loop])
    report = rehearsed(tmp_path, text)
    assert report.complete
    assert report.findings == ()


@pytest.mark.parametrize("name", DATA)
def test_each_kind_of_data_set_ends(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.format(data=DATA[name], loop="rows", count=5))
    assert report.complete
    assert report.findings == ()
    assert "__iter__" not in vars(Dataset)


def test_an_index_beyond_the_end_is_an_error(tmp_path: Path) -> None:
    text = SCRIPT.format(data="Rows()", loop="[rows[i] for i in range(6)]", count=6)
    report = rehearsed(tmp_path, text)
    assert [finding.code for finding in report.findings] == ["index-out-of-range"]
