"""Windows of a series, and tokens, whose target is what the model reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SERIES = """\
import numpy as np
import torch
from torch import nn

series = np.sin(np.arange(120) / 9).astype("float32")
n = 10


def cut(series, n):
    xs, ys = [], []
    for i in range({count}):
        {parts}
    return torch.tensor(np.array(xs)), torch.tensor(np.array(ys))


x, y = cut(series, n)
model = nn.Linear(n, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = (model(x).squeeze(-1) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
APPENDED = "xs.append(series[i:i + n]); ys.append(series[i + n - 1])"
WRONG = {
    "appended": ("len(series) - n", APPENDED, "`series[i + n]`"),
    "to the end": (
        "len(series) - n + 1",
        APPENDED,
        "`series[i + n]` and `len(series) - n`",
    ),
    "named": (
        "len(series) - n",
        "window, target = series[i:i + n], series[i + n - 1];"
        " xs.append(window); ys.append(target)",
        "`series[i + n]`",
    ),
    "before": (
        "n, len(series)",
        "xs.append(series[i - n:i]); ys.append(series[i - 1])",
        "`series[i]`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_last_value_of_a_window_is_no_target(case: str, tmp_path: Path) -> None:
    count, parts, fix = WRONG[case]
    findings = rehearsed(tmp_path, SERIES.format(count=count, parts=parts)).findings
    (finding,) = [f for f in findings if f.code == "unshifted-target"]
    assert [one.message for one in finding.fixes if one.checked] == [fix]


RIGHT = {
    "next": "xs.append(series[i:i + n]); ys.append(series[i + n])",
    "other": "marks = series > 0; xs.append(series[i:i + n]);"
    " ys.append(marks[i + n - 1].astype('float32'))",
    "base": "base = series[i + n - 1]; xs.append(series[i:i + n] / (base + 2));"
    " ys.append(series[i + n])",
    "kept base": "xs.append(series[i:i + n]); ys.append(series[i + n]);"
    " bases = []; bases.append(series[i + n - 1])",
}


@pytest.mark.parametrize("case", RIGHT)
def test_windows_of_other_targets_are_quiet(case: str, tmp_path: Path) -> None:
    text = SERIES.format(count="len(series) - n", parts=RIGHT[case])
    findings = rehearsed(tmp_path, text).findings
    assert not [f for f in findings if f.code == "unshifted-target"]


ITEMS = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, table, n):
        self.table, self.n = table, n

    def __len__(self):
        return len(self.table) - self.n

    def __getitem__(self, i):
        return self.table[i:i + self.n], self.table[i + self.n{minus}, 0]


model = nn.Linear(15, 1)
for x, y in DataLoader(Windows(torch.randn(60, 3), 5), batch_size=10):
    (model(x.flatten(1)).squeeze(1) - y).pow(2).mean().backward()
"""


@pytest.mark.parametrize("minus", [" - 1", ""])
def test_items_of_a_table(minus: str, tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, ITEMS.format(minus=minus)).findings
    fixes = [f.fixes[0].message for f in findings if f.code == "unshifted-target"]
    assert fixes == (["`self.table[i + self.n, 0]`"] if minus else [])


TOKENS = """\
import torch
from torch import nn

data = torch.randint(0, 20, (300,))
n = 8


def draw():
    starts = torch.randint(0, len(data) - n - 1, (4,))
    x = {first}
    y = {second}
    return x, y


emb, rnn, out = nn.Embedding(20, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 20)
for _ in range(3):
    x, y = draw()
    h, _ = rnn(emb(x))
    nn.functional.cross_entropy(out(h).flatten(0, 1), y.flatten()).backward()
"""


def test_targets_that_are_cut_like_the_inputs_are_shifted(tmp_path: Path) -> None:
    same = "torch.stack([data[s:s + n] for s in starts])"
    text = TOKENS.format(first=same, second=same)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "unshifted-target"]
    checked = [fix.message for fix in finding.fixes if fix.checked]
    assert checked == ["`data[s + 1:s + n + 1]`"]
