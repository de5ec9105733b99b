"""Rows that are oversampled before the data are split."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

class KFold:
    def __init__(self, n):
        self.n = n
    def split(self, x, y=None):
        yield np.arange(20, len(x)), np.arange(20)

class GroupKFold(KFold):
    pass

class RandomOverSampler:
    def fit_resample(self, x, y):
        return np.concatenate([x, x[:20]]), np.concatenate([y, y[:20]])

def train_test_split(*tables, test_size=0.2):
    return [part for table in tables for part in (table[20:], table[:20])]

def resample(x, n_samples, replace=True):
    return x[np.random.choice(len(x), n_samples, replace=replace)]

rng = np.random.default_rng(0)
X, y = rng.normal(size=(100, 6)).astype(np.float32), rng.integers(0, 2, 100)
rare = np.arange(10)
"""
AFTER = """
train = TensorDataset(torch.tensor(X_train), torch.tensor(y_train))
net = nn.Linear(6, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, labels in DataLoader(train, 16, shuffle=True):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(inputs), labels).backward()
    optimizer.step()
"""
SPLIT = "X_train, X_test, y_train, y_test = train_test_split(X, y)"
WRONG = {
    "an index": (
        "extra = rng.choice(rare, 50)\n"
        f"X = np.concatenate([X, X[extra]]); y = np.concatenate([y, y[extra]])\n{SPLIT}"
    ),
    "resampled": (
        "more = resample(X[rare], n_samples=50)\nX = np.vstack([X, more])\n"
        f"y = np.concatenate([y, np.ones(50, dtype=int)])\n{SPLIT}"
    ),
    "a sampler": f"X, y = RandomOverSampler().fit_resample(X, y)\n{SPLIT}",
    "a named sampler": (
        f"sampler = RandomOverSampler()\nX, y = sampler.fit_resample(X, y)\n{SPLIT}"
    ),
    "repeated in a list": (
        "X1 = X[rare]; y1 = y[rare]\nX = np.concatenate([X] + [X1] * 3)\n"
        f"y = np.concatenate([y] + [y1] * 3)\n{SPLIT}"
    ),
    "a function": (
        "def balance(x):\n    extra = np.random.choice(rare, 40)\n"
        "    return np.concatenate([x, x[extra]])\n"
        f"X, y = balance(X), balance(y)\n{SPLIT}"
    ),
    "folds": (
        "extra = rng.choice(rare, 50, replace=True)\n"
        "X = np.concatenate([X, X[extra]]); y = np.concatenate([y, y[extra]])\n"
        "folds = KFold(5)\nfor a, b in folds.split(X, y):\n"
        "    X_train, y_train = X[a], y[a]"
    ),
    "parts of a data set": (
        "x, t = torch.tensor(X), torch.tensor(y)\nextra = torch.randint(10, (50,))\n"
        "data = TensorDataset(torch.cat([x, x[extra]]), torch.cat([t, t[extra]]))\n"
        "parts = random_split(data, [120, 30])\nX_train, y_train = X, y"
    ),
}
RIGHT = {
    "split first": (
        f"{SPLIT}\nextra = rng.choice(rare, 50)\n"
        "X_train = np.concatenate([X_train, X_train[extra]])\n"
        "y_train = np.concatenate([y_train, y_train[extra]])"
    ),
    "split first, one name": (
        f"full = X\n{SPLIT}\nX_train, y_train = "
        "RandomOverSampler().fit_resample(X_train, y_train)"
    ),
    "fewer rows": (
        "few = rng.choice(rare, 5, replace=False)\n"
        "X = np.concatenate([X[20:], X[few]])\n"
        f"y = np.concatenate([y[20:], y[few]])\n{SPLIT}"
    ),
    "two classes": (
        "a, b = X[y == 0], X[y == 1]\nX = np.concatenate([a, b])\ny = np.sort(y)\n"
        f"{SPLIT}"
    ),
    "made data": (
        "centres = rng.normal(size=(2, 6))\nk = rng.choice(2, 100)\n"
        "X = (centres[k] + rng.normal(size=(100, 6))).astype(np.float32)\ny = k\n"
        f"{SPLIT}"
    ),
    "groups": (
        "extra = rng.choice(rare, 50)\n"
        "X = np.concatenate([X, X[extra]]); y = np.concatenate([y, y[extra]])\n"
        "for a, b in GroupKFold(5).split(X, y):\n    X_train, y_train = X[a], y[a]"
    ),
    "words that are split": (
        "extra = rng.choice(rare, 50)\n"
        "X_train = np.concatenate([X, X[extra]])\n"
        "y_train = np.concatenate([y, y[extra]])\n"
        "print('a b'.split())\nparts = torch.tensor(X_train).split(30)"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_copies_before_a_split_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{WRONG[name]}\n{AFTER}")
    codes = [finding.code for finding in report.findings]
    assert "copies-before-split" in codes


@pytest.mark.parametrize("name", RIGHT)
def test_rows_that_are_split_first_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{RIGHT[name]}\n{AFTER}")
    assert "copies-before-split" not in [finding.code for finding in report.findings]
