"""Rows for a test that are standardized by themselves, beside legal programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

array = np.random.rand(60, 6)
table, truths = torch.rand(60, 6), torch.rand(60, 1)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


class Table(Dataset):
    def __init__(self, rows, mean=None, std=None):
        if mean is None:
            mean, std = rows.mean(dim=0), rows.std(dim=0)
        self.mean, self.std = mean, std
        self.rows = (rows - mean) / (std + 1e-8)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.rows[i, :1]


class Frame(Dataset):
    def __init__(self, part):
        raw = np.asarray(part, dtype=np.float32)
        low, high = raw.min(axis=0), raw.max(axis=0)
        self.rows = torch.from_numpy((raw - low) / (high - low))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.rows[i, :1]


def z_score(values):
    mean = values.mean(axis=0, keepdims=True)
    return (values - mean) / values.std(axis=0, keepdims=True)


def z_score_rows(values):
    mean = values.mean(axis=1, keepdims=True)
    return (values - mean) / values.std(axis=1, keepdims=True)


def as_set(values):
    values = torch.from_numpy(values.astype(np.float32))
    return TensorDataset(values, values[:, :1])


def scale(rows):
    return (rows - rows.mean(0, keepdim=True)) / rows.std(0, keepdim=True)


{data}
for x, y in DataLoader(train, 10):
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for x, y in DataLoader(test, 10):
        error = (model(x) - y).abs().sum()
"""
WRONG = {
    "a class": "train, test = Table(table[:40]), Table(table[40:])",
    "a function":
        "order = torch.randperm(60)\n"
        "train = TensorDataset(scale(table[order[:40]]), truths[order[:40]])\n"
        "test = TensorDataset(scale(table[order[40:]]), truths[order[40:]])",
    "a class of arrays": "train, test = Frame(array[:40]), Frame(array[40:])",
    "a function of arrays":
        "train, test = np.split(array, [40])\ntrain = as_set(z_score(train))\n"
        "test = as_set(z_score(test))",
    "three parts":
        "a, b, c = table.split([30, 15, 15])\n"
        "a = (a - a.mean(0)) / a.std(0)\nb = (b - b.mean(0)) / b.std(0)\n"
        "train = TensorDataset(a, truths[:30])\ntest = TensorDataset(b, truths[30:45])",
}  # fmt: skip
RIGHT = {
    "its statistics":
        "train = Table(table[:40])\ntest = Table(table[40:], train.mean, train.std)",
    "of all": "rows = scale(table)\ntrain = TensorDataset(rows[:40], truths[:40])\n"
              "test = TensorDataset(rows[40:], truths[40:])",
    "sets from elsewhere":
        "train, test = Table(torch.rand(40, 6)), Table(torch.rand(20, 6) * 2)",
    "subjects":
        "parts = [scale(table[i:i + 10]) for i in range(0, 60, 10)]\n"
        "train = TensorDataset(torch.cat(parts[:4]), truths[:40])\n"
        "test = TensorDataset(torch.cat(parts[4:]), truths[40:])",
    "each row of arrays":
        "train, test = np.split(array, [40])\n"
        "train, test = as_set(z_score_rows(train)), as_set(z_score_rows(test))",
    "arrays from elsewhere":
        "other = np.random.rand(20, 6)\ntrain, test = Frame(array), Frame(other)",
    "stations of one table":
        "whole = np.concatenate([z_score(array[:30]), z_score(array[30:])])\n"
        "train, test = as_set(whole[:40]), as_set(whole[40:])",
    "each row":
        "a, b = table[:40], table[40:]\n"
        "a = (a - a.mean(1, keepdim=True)) / a.std(1, keepdim=True)\n"
        "b = (b - b.mean(1, keepdim=True)) / b.std(1, keepdim=True)\n"
        "train, test = TensorDataset(a, truths[:40]), TensorDataset(b, truths[40:])",
    "both trained":
        "first, second = Table(table[:40]), Table(table[40:])\n"
        "train = torch.utils.data.ConcatDataset([first, second])\n"
        "test = train",
}  # fmt: skip


def find_lines(folder: Path, data: str) -> list[str]:
    text = SCRIPT.format(data=data)
    report = rehearsed(folder, text)
    assert report.complete, report
    spans = [f.span for f in report.findings if f.code == "own-statistics"]
    return [text.splitlines()[span.line - 1] for span in spans if span is not None]


@pytest.mark.parametrize("name", WRONG)
def test_rows_in_units_of_their_own_are_found(name: str, tmp_path: Path) -> None:
    (line,) = find_lines(tmp_path, WRONG[name])
    assert line in WRONG[name].splitlines()
    assert "test" in line or "b.mean" in line


@pytest.mark.parametrize("name", RIGHT)
def test_other_statistics_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_lines(tmp_path, RIGHT[name]) == []
