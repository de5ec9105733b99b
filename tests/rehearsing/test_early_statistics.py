"""Data that are scaled by statistics of all rows, and split afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed
from tests.rehearsing.test_copied_rows import AFTER, BEFORE

SCALERS = """
class StandardScaler:
    def fit(self, x):
        self.mean_, self.scale_ = np.mean(x, axis=0), np.std(x, axis=0)
        return self
    def transform(self, x):
        return (x - self.mean_) / self.scale_
    def fit_transform(self, x):
        return self.fit(x).transform(x)

class MinMaxScaler(StandardScaler):
    pass

scaler = StandardScaler()
"""
SPLIT = "X_train, X_test, y_train, y_test = train_test_split(X, y)"
PARTS = "y_train, y_test = y[:80], y[80:]\n"
WRONG = {
    "in place": f"X = scaler.fit_transform(X)\n{SPLIT}",
    "at once": f"X = MinMaxScaler().fit_transform(X)\n{SPLIT}",
    "another name": (
        "scaled = scaler.fit_transform(X)\n" + SPLIT.replace("(X,", "(scaled,")
    ),
    "fitted before": f"scaler.fit(X)\nX = scaler.transform(X)\n{SPLIT}",
    "cut": (f"X = scaler.fit_transform(X)\n{PARTS}X_train, X_test = X[:80], X[80:]"),
    "parts of a data set": (
        "X = scaler.fit_transform(X)\n"
        "data = TensorDataset(torch.tensor(X), torch.tensor(y))\n"
        "train_set, test_set = random_split(data, [80, 20])\nX_train, y_train = X, y"
    ),
    "by hand": f"X = (X - X.mean(0)) / X.std(0)\n{SPLIT}",
    "by hand, named": (
        "mean, std = X.mean(axis=0), X.std(axis=0)\n"
        f"X = (X - mean) / (std + 1e-8)\n{SPLIT}"
    ),
    "by hand, in a function": (
        "def normalize(data):\n"
        "    mean, std = data.mean(0), data.std(0)\n"
        "    return (data - mean) / std\n"
        f"X = normalize(X)\n{SPLIT}"
    ),
    "by hand, in a class": (
        "class Table:\n"
        "    def scale(self, data):\n"
        "        rows = data.copy()\n"
        "        rows = (rows - rows.min(0)) / (rows.max(0) - rows.min(0))\n"
        "        return rows\n"
        f"X = Table().scale(X)\n{PARTS}X_train, X_test = X[:80], X[80:]"
    ),
    "to its range": (
        f"X = (X - np.min(X, axis=0)) / (np.max(X, 0) - np.min(X, 0))\n{SPLIT}"
    ),
}
RIGHT = {
    "split first": (
        f"{SPLIT}\nX_train = scaler.fit_transform(X_train)\n"
        "X_test = scaler.transform(X_test)"
    ),
    "fitted on the first rows": (
        f"scaler.fit(X[:80])\nX = scaler.transform(X)\n{PARTS}"
        "X_train, X_test = X[:80], X[80:]"
    ),
    "each row by itself": (
        f"X = (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)\n{SPLIT}"
    ),
    "known numbers": f"X = (X - 0.5) / 2\n{SPLIT}",
    "statistics of the first rows": (
        f"first = X[:80]\nX = (X - first.mean(0)) / first.std(0)\n{PARTS}"
        "X_train, X_test = X[:80], X[80:]"
    ),
    "a function with the statistics": (
        "def normalize(data, mean, std):\n    return (data - mean) / std\n"
        f"X = normalize(X, X[:80].mean(0), X[:80].std(0))\n{PARTS}"
        "X_train, X_test = X[:80], X[80:]"
    ),
    "a function for the training": (
        "def normalize(data):\n    return (data - data.mean(0)) / data.std(0)\n"
        f"{SPLIT}\nX_train = normalize(X_train)"
    ),
    "a function that is fitted": (
        "def normalize(data, n_train):\n"
        "    first = data[:n_train]\n"
        "    return (data - first.mean(0)) / first.std(0)\n"
        f"X = normalize(X, 80)\n{PARTS}X_train, X_test = X[:80], X[80:]"
    ),
    "no split": "X = scaler.fit_transform(X)\nX_train, y_train = X, y",
    "raw data are split": f"shown = scaler.fit_transform(X)\n{SPLIT}",
}
FIXES = {
    "in place": "`X_train = scaler.fit_transform(X_train)`",
    "at once": "`scaler = MinMaxScaler()`",
    "another name": "`X_test = scaler.transform(X_test)`",
    "by hand": "`mean, std = X_train.mean(0), X_train.std(0)`",
}


@pytest.mark.parametrize("name", WRONG)
def test_statistics_of_all_rows_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{SCALERS}{WRONG[name]}\n{AFTER}")
    found = [f for f in report.findings if f.code == "fitted-before-split"]
    assert [f.severity for f in found] == [
        "note" if name.startswith(("by hand", "to its")) else "warning"
    ]
    if name in FIXES:
        fixes = [fix.message for fix in found[0].fixes if fix.checked]
        assert any(FIXES[name] in message for message in fixes)


@pytest.mark.parametrize("name", RIGHT)
def test_statistics_of_the_training_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{SCALERS}{RIGHT[name]}\n{AFTER}")
    assert "fitted-before-split" not in [f.code for f in report.findings]


LOSSES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x, y = torch.randn(40, 6), torch.randn(40, 3)
n = 30
{scale}
train_loader = DataLoader(TensorDataset(x[:n], y[:n]), 8, shuffle=True)
test_loader = DataLoader(TensorDataset(x[n:], y[n:]), 8)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b in train_loader:
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(sum((model(a) - b).square().mean() for a, b in test_loader))
"""
DIVIDED = "((model(a) - b).square() / scale).mean()"
OF_ALL = {
    "a function": "scale = torch.sqrt(torch.mean(y ** 2, dim=0))",
    "a method": "scale = y.std(0)",
    "of all elements": "scale = y.abs().mean()",
}
OF_SOME = {
    "of the training": ("scale = y[:n].std(0)", DIVIDED),
    "of each row": ("scale = y.std(1)", "(model(a) - b).square().mean() * scale.sum()"),
    "only shown": ("scale = y.std(0)\nprint(scale)", "(model(a) - b).square().mean()"),
    "other rows": ("scale = torch.randn(9, 3).std(0)", DIVIDED),
    "a number of classes": ("scale = y.max() + 1", DIVIDED),
    "set again": ("scale = y.std(0)\ny = torch.randn(40, 3)", DIVIDED),
}


@pytest.mark.parametrize("name", OF_ALL)
def test_a_scale_of_all_rows_is_noted(tmp_path: Path, name: str) -> None:
    text = LOSSES.format(scale=OF_ALL[name], loss=DIVIDED)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "fitted-before-split"]
    assert finding.severity == "note"
    assert [fix.message for fix in finding.fixes] == ["`y[:n]`"]


@pytest.mark.parametrize("name", OF_SOME)
def test_a_scale_of_some_rows_is_quiet(tmp_path: Path, name: str) -> None:
    scale, loss = OF_SOME[name]
    findings = rehearsed(tmp_path, LOSSES.format(scale=scale, loss=loss)).findings
    assert "fitted-before-split" not in {f.code for f in findings}
