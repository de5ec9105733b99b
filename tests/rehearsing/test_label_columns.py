"""Features that still hold the column that is predicted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

BEFORE = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Index:
    def __init__(self, table):
        self.table = table
    def __getitem__(self, place):
        rows, columns = place if isinstance(place, tuple) else (place, slice(None))
        part = self.table.values[rows, columns]
        if part.ndim < 2:
            return DataFrame(part)
        return DataFrame(part, self.table.columns[columns])

class DataFrame:
    \"\"\"As much of a table of pandas as the programs need.\"\"\"
    def __init__(self, values, columns=None):
        self.values, self.columns = values, columns
        self.iloc = Index(self)
    def __getitem__(self, name):
        if isinstance(name, list):
            places = [self.columns.index(n) for n in name]
            return DataFrame(self.values[:, places], name)
        return DataFrame(self.values[:, self.columns.index(name)])
    def __len__(self):
        return len(self.values)
    def drop(self, columns):
        return self[[name for name in self.columns if name not in columns]]
    def pop(self, name):
        column, kept = self[name], self.drop([name])
        self.values, self.columns = kept.values, kept.columns
        return column
    def to_numpy(self, dtype=None):
        return self.values if dtype is None else self.values.astype(dtype)

class StandardScaler:
    def fit_transform(self, x):
        x = getattr(x, "values", x)
        return (x - x.mean(0)) / x.std(0)

def train_test_split(*tables):
    return [part for table in tables for part in (table[20:], table[:20])]

def read_table():
    values = np.random.default_rng(0).normal(size=(96, 5)).astype(np.float32)
    return DataFrame(values, ["age", "rooms", "size", "year", "price"])

df, scaler = read_table(), StandardScaler()
data = torch.tensor(df.values)
"""
TRAINING = """
net = nn.Sequential(nn.Linear(x.shape[1], 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(2):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x).squeeze(1), y)
    loss.backward()
    optimizer.step()
"""
BATCHES = """
net = nn.Sequential(nn.Linear(n_in, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for a, b in DataLoader(train, 16, shuffle=True):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(a).squeeze(1), b).backward()
    optimizer.step()
"""
CODING = """
net = nn.Linear(x.shape[1], x.shape[1])
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(2):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), x).backward()
    optimizer.step()
"""
PRICE = 'y = torch.tensor(df["price"].values)\n'
ITEMS = """
class Houses(Dataset):
    def __init__(self, df):
        self.x = df.values
        self.y = df["price"].values
    def __len__(self):
        return len(self.y)
    def __getitem__(self, i):
        return torch.tensor(self.x[i]), torch.tensor(self.y[i])
train = Houses(df)
n_in = train[0][0].shape[0]
"""
SCALED_ITEMS = """
class Houses(Dataset):
    def __init__(self, df):
        features = df
        self.features = torch.tensor((features.values - 1) / 2)
        self.y = torch.tensor(df["price"].values)
    def __len__(self):
        return len(self.y)
    def __getitem__(self, i):
        return self.features[i], self.y[i]
train = Houses(df)
n_in = train[0][0].shape[0]
"""
ROWS = """
class Houses(Dataset):
    def __init__(self, df):
        self.data = torch.tensor(df.values)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, i):
        return self.data[i, 1:], self.data[i, -1]
train = Houses(df)
n_in = train[0][0].shape[0]
"""
FUNCTION = """
def load(df, target="price"):
    y = df[target].values
    x = scaler.fit_transform(df)
    return torch.tensor(x), torch.tensor(y)
x, y = load(df)
"""
WRONG = {
    "values": f"{PRICE}x = torch.tensor(df.values)",
    "to_numpy": f"x = torch.tensor(df.to_numpy(dtype=np.float32))\n{PRICE}",
    "array": f"{PRICE}x = torch.from_numpy(np.array(df.values)).float()",
    "scaled": f"{PRICE}x = torch.tensor(scaler.fit_transform(df))",
    "by hand": f"{PRICE}x = torch.tensor((df.values - df.values.mean(0)) / 2)",
    "two steps": f"X = df.values\n{PRICE}x = torch.tensor(X, dtype=torch.float32)",
    "a frame": f"X = df\n{PRICE}x = torch.tensor(X.values)",
    "a list of one": (
        'y = torch.tensor(df[["price"]].values).squeeze(1)\nx = torch.tensor(df.values)'
    ),
    "position": (
        "y = torch.tensor(df.iloc[:, 4].values)\n"
        "x = torch.tensor(df.iloc[:, 1:].values)"
    ),
    "a function": FUNCTION,
    "parts": (
        'X, Y = df.values, df["price"].values\n'
        "x_train, x_test, y_train, y_test = train_test_split(X, Y)\n"
        "x, y = torch.tensor(x_train), torch.tensor(y_train)"
    ),
    "items": ITEMS,
    "rows": ROWS,
    "scaled items": SCALED_ITEMS,
    "a name by its place": (
        'prices = torch.tensor(df["price"].values)\nx = torch.tensor(df.values)\n'
        "train = TensorDataset(x, prices)\nn_in = train[0][0].shape[0]"
    ),
    "rows that are shown": (
        f"X = df.values\n{PRICE}x, y = torch.tensor(X[:80]), y[:80]\nfirst = X[:3]"
    ),
    "at once": (
        "train = TensorDataset(torch.tensor(df.values), "
        'torch.tensor(df["price"].values))\nn_in = train[0][0].shape[0]'
    ),
    "from the second": "x, y = data[:, 1:], data[:, -1]",
    "from the second, kept": "x = data[:, 1:]\ny = data[:, -1:].squeeze(1)",
    "to the last": "x = data[:, :-1]\ny = data[:, 0]",
    "all": "x = data\ny = data[:, -1]",
    "first five": "x, y = data[:, :5], data[:, 4]",
    "a list": "x, y = data[:, [0, 2, 4]], data[:, 4]",
    "a named array": f"array = df.values\n{PRICE}x = torch.tensor(array)",
    "a listed name": (
        'cols = ["age", "size", "price"]\n'
        + PRICE
        + "x = torch.tensor(df[cols].values)"
    ),
    "listed in place": f'{PRICE}x = torch.tensor(df[["age", "price"]].values)',
    "all its columns": (
        f"cols = list(df.columns)\n{PRICE}x = torch.tensor(df[cols].values)"
    ),
    "both parts": (
        "train, test = data[:80], data[80:]\n"
        "x, y = train[:, 1:], train[:, -1]\nx_test, y_test = test[:, 1:], test[:, -1]\n"
        "nn.functional.mse_loss(nn.Linear(x.shape[1], 1)(x_test).squeeze(1), y_test)"
    ),
    "the same rows": (
        'y = torch.tensor(df["price"].values[:80])\nx = torch.tensor(df.values[:80])'
    ),
    "same name": "y = data[:, 0]\ndata = data[:, :-1]\nx = data",
}
RIGHT = {
    "dropped": f'{PRICE}x = torch.tensor(df.drop(columns=["price"]).values)',
    "dropped before": (
        f'{PRICE}df = df.drop(columns=["price"])\nx = torch.tensor(df.values)'
    ),
    "popped": 'y = torch.tensor(df.pop("price").values)\nx = torch.tensor(df.values)',
    "popped between": f'{PRICE}df.pop("price")\nx = torch.tensor(df.values)',
    "positions": f"{PRICE}x = torch.tensor(df.iloc[:, :-1].values)",
    "chosen": f'cols = ["age", "size"]\n{PRICE}x = torch.tensor(df[cols].values)',
    "chosen first": (f'X = df[["age", "size"]]\n{PRICE}x = torch.tensor(X.values)'),
    "chosen later": f"{PRICE}X = df.values\nx = torch.tensor(X[:, :4])",
    "deleted later": f"{PRICE}X = df.values\nX = np.delete(X, 4, axis=1)\n"
    "x = torch.tensor(X)",
    "another table": f"{PRICE}df = read_table()\nx = torch.tensor(df.values)",
    "shifted": (
        "DataFrame.shift = lambda self, by: DataFrame(np.roll(self.values, by))\n"
        'y = torch.tensor(df["price"].shift(-1).values)\nx = torch.tensor(df.values)'
    ),
    "the next row": (
        'y = torch.tensor(df["price"].values[1:])\nx = torch.tensor(df.values[:-1])'
    ),
    "later rows": (
        'X, Y = df.values, df["price"].values\n'
        "x = torch.tensor(np.stack([X[i : i + 3].ravel() for i in range(90)]))\n"
        "y = torch.tensor(np.stack([Y[i + 3] for i in range(90)]))"
    ),
    "windows": (
        "series = data\nn = 3\n"
        "x = torch.stack([series[i : i + n].flatten() for i in range(90)])\n"
        "y = torch.stack([series[i + n, 0] for i in range(90)])"
    ),
    "apart": "x, y = data[:, :-1], data[:, -1]",
    "apart by number": "x, y = data[:, :4], data[:, 4]",
    "perhaps apart": "x, y = data[:, :-1], data[:, 4]",
    "a made-up label": "x = data\ny = data[:, 0] * data[:, 1]",
    "the table itself": "x = torch.randn(96, 5)\ny = x[:, 0]",
    "the symbol to remember": (
        "data = torch.randint(9, (96, 5)).float()\nx = data\ny = data[:, 0]"
    ),
    "reassigned": "x = data[:, 1:]\ndata = torch.randn(96, 5)\ny = data[:, -1]",
    "a list without it": (
        "cols = list(df.columns)\ncols.remove('price')\n"
        f"{PRICE}x = torch.tensor(df[cols].values)"
    ),
    "a filtered list": (
        'cols = [name for name in df.columns if name != "price"]\n'
        f"{PRICE}x = torch.tensor(df[cols].values)"
    ),
    "a function between": (
        "def prepare(table):\n    table.pop('price')\n"
        f"{PRICE}prepare(df)\nx = torch.tensor(df.values)"
    ),
    "coordinates": (
        "inputs = data\nx, y = data[:, 0], data[:, 1]\nnet = nn.Linear(5, 1)\n"
        "nn.functional.mse_loss(net(inputs).squeeze(1), y)\nx = data[:, :1]"
    ),
    "a masked column": "x = data.clone()\nx[:, 4] = 0\ny = data[:, 4]",
    "the rest of a frame": (
        f"X = df\n{PRICE}X = X.drop(['price'])\nx = torch.tensor(X.values)"
    ),
    "the model chooses": (
        "class First(nn.Module):\n"
        "    def forward(self, x):\n        return x[:, :4]\n"
        "x, y = data[:, 1:], data[:, -1]\nx = First()(x)"
    ),
    "columns of other tables": (
        "other = read_table()\n"
        'y = torch.tensor(other["price"].values)\nx = torch.tensor(df.values)'
    ),
    "branches": (
        "if len(data) > 9:\n    x = data[:, 1:]\n    y = torch.zeros(96)\n"
        "else:\n    x = data[:, :1]\n    y = data[:, -1]"
    ),
}
UNSUPERVISED = {
    "an autoencoder": "x = data[:, 1:]\ny = data[:, -1]\nprint(y.mean())",
    "colours": f"x = torch.tensor(df.values)\n{PRICE}print(x.shape, y.shape)",
}
NEXT = '`df.drop(columns=["price"])`'
FIXES = {
    "values": NEXT, "scaled": NEXT, "by hand": NEXT, "at once": NEXT, "a frame": NEXT,
    "a function": "`df.drop(columns=[target])`", "items": NEXT,
    "position": "`df.iloc[:, 1:4]`", "rows": "`self.data[i, 1:-1]`",
    "from the second": "`data[:, 1:-1]`", "to the last": "`data[:, 1:-1]`",
    "all": "`data[:, :-1]`", "first five": "`data[:, :4]`",
    "a list": "`data[:, [0, 2]]`",
    "a named array": NEXT, "a listed name": '`["age", "size"]`',
    "listed in place": '`["age"]`',
    "both parts": "`train[:, 1:-1]` and `test[:, 1:-1]`",
    "the same rows": NEXT, "all its columns": '`df[cols].drop(columns=["price"])`',
}  # fmt: skip


def build_program(text: str) -> str:
    """Return a program that trains on the `x` and `y`, or the `train`, of a text."""
    return f"{BEFORE}{text}\n{BATCHES if 'n_in' in text else TRAINING}"


@pytest.mark.parametrize("name", WRONG)
def test_labels_among_features_are_found(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, build_program(WRONG[name]))
    assert {finding.code for finding in report.findings} == {"label-among-features"}
    if name in FIXES:
        fixes = [fix.message for fix in report.findings[0].fixes if fix.checked]
        assert any(FIXES[name] in message for message in fixes)


MODEL = """
class Net(nn.Module):
    def __init__(self, n_features=5):
        super().__init__()
        self.layer = nn.Linear(n_features, 1)
    def forward(self, x):
        return self.layer(x)
"""
WRITTEN = {
    "in the layer": TRAINING.replace("x.shape[1]", "5"),
    "beside a name": "n_in = 5\n" + TRAINING.replace("x.shape[1]", "n_in"),
    "handed to the model": MODEL + TRAINING.replace("nn.Sequential(", "Net(5)  # ("),
    "of the model": MODEL + TRAINING.replace("nn.Sequential(", "Net()  # ("),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_first_layer_has_an_input_less(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{WRONG['values']}\n{WRITTEN[name]}")
    assert [finding.code for finding in report.findings] == ["label-among-features"]
    fixes = [fix for fix in report.findings[0].fixes if fix.checked]
    assert [fix.message for fix in fixes][:1] == [
        f"{NEXT}, and 4 inputs of the first layer"
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_features_without_their_label_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, build_program(RIGHT[name]))
    assert report.complete
    assert "label-among-features" not in [f.code for f in report.findings]


@pytest.mark.parametrize("name", UNSUPERVISED)
def test_labels_that_no_loss_asks_for_are_right(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, f"{BEFORE}{UNSUPERVISED[name]}\n{CODING}")
    assert report.complete
    assert "label-among-features" not in [f.code for f in report.findings]
