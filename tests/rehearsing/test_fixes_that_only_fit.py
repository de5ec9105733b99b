"""Edits with which a program runs and does another thing than it means: no fixes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsing.rehearsed import rehearsed
from shapewright import api

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

"""
STEP = """\
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

CLASSES_LAST = """\
class Net(nn.Module):
    def __init__(self, classes=20):
        super().__init__()
        self.fc = nn.Linear(8, classes)

    def forward(self, x, y):
        return F.cross_entropy(self.fc(x), y)


def example_inputs():
    return torch.randn(4, 7, 8), torch.randint(0, 7, (4, 7))
"""

CHANNELS_LAST = """\
class Net(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv = nn.Conv1d(width, 8, 3)

    def forward(self, x):
        return self.conv(x).mean(-1)


def example_inputs():
    return (torch.randn(4, 50, 24),)
"""

STATE = """\
class Net(nn.Module):
    def __init__(self, layers=2, width=16):
        super().__init__()
        self.layers, self.width = layers, width
        self.rnn = nn.GRU(8, width, layers, batch_first=True)

    def forward(self, x):
        h = torch.zeros(x.size(0), self.layers, self.width)
        return self.rnn(x, h)[0]


def example_inputs():
    return (torch.randn(5, 6, 8),)
"""

SQUARE_IMAGES = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        return self.conv(x).mean((2, 3))


def example_inputs():
    return (torch.randn(5, 32, 32, 3),)
"""

WRONG_NUMBER = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=2)

    def forward(self, x):
        return x + self.conv(x).mean(1, keepdim=True)


def example_inputs():
    return (torch.randn(5, 3, 20, 20),)
"""

COLUMNS = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.columns = nn.Sequential(nn.Embedding(9, 4), nn.Embedding(9, 4))
        self.fc = nn.Linear(2 * 4, 3)

    def forward(self, x):
        return self.fc(self.columns(x).flatten(1))


def example_inputs():
    return (torch.randint(0, 9, (6, 2)),)
"""


@pytest.mark.parametrize(
    ("text", "fixes"),
    [
        (CLASSES_LAST, ["`self.fc(x).transpose(1, 2)`"]),
        (CHANNELS_LAST, ["`x.transpose(1, 2)`"]),
        (STATE, ["`torch.zeros(self.layers, x.size(0), self.width)`"]),
        (SQUARE_IMAGES, ["`x.permute(0, 3, 1, 2)`"]),
        (COLUMNS, []),
    ],
    ids=["classes", "channels", "state", "images", "columns"],
)
def test_another_number_is_no_fix_beside_another_order(
    tmp_path: Path, text: str, fixes: list[str]
) -> None:
    file = tmp_path / "net.py"
    file.write_text(HEAD + text)
    findings = api.check_target(f"{file}:Net").findings
    (only,) = (each for each in findings if each.severity == "error")
    assert [fix.message for fix in only.fixes] == fixes


def test_a_layer_that_reads_what_the_layer_before_returns(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(HEAD + COLUMNS)
    (only,) = api.check_target(f"{file}:Net").findings
    assert "the output of `columns.0`, which it is given, is float32" in only.message


def test_another_number_is_a_fix_where_none_follows_from_the_call(
    tmp_path: Path,
) -> None:
    file = tmp_path / "net.py"
    file.write_text(HEAD + WRONG_NUMBER)
    (only,) = api.check_target(f"{file}:Net").findings
    assert "`nn.Conv2d(3, 8, 3, padding=1)`" in [fix.message for fix in only.fixes]


LAST_SAMPLE = """\
loader = DataLoader(
    TensorDataset(torch.randn(64, 9, 12), torch.randint(0, 4, (64,))), batch_size=16
)
rnn, fc = nn.GRU(12, 20, batch_first=True), nn.Linear(20, 4)
optimizer = torch.optim.SGD([*rnn.parameters(), *fc.parameters()], lr=0.1)
for x, y in loader:
    _, h = rnn(x)
    loss = F.cross_entropy(fc(h[:, -1]), y)
"""

FIRST_SAMPLE = """\
loader = DataLoader(
    TensorDataset(torch.randn(64, 12), torch.randint(0, 4, (64,))), batch_size=16
)
fc = nn.Linear(12, 4)
optimizer = torch.optim.SGD(fc.parameters(), lr=0.1)
for x, y in loader:
    loss = F.cross_entropy(fc(x)[:1], y)
"""

SLICED = """\
x, y = torch.randn(64, 12), torch.randint(0, 4, (64,))
order, fc = torch.randperm(64), nn.Linear(12, 4)
optimizer = torch.optim.SGD(fc.parameters(), lr=0.1)
for i in range(0, 64, 16):
    rows = order[i : i + 16]
    loss = F.cross_entropy(fc(x[rows])[:4], y[rows])
"""

ONE_OF_33 = """\
net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(33, 6), torch.randn(33, 1)), 16)
for x, y in loader:
    loss = F.mse_loss(net(x), y)
"""


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (LAST_SAMPLE, "`h[-1]`"),
        (FIRST_SAMPLE, ""),
        (SLICED, ""),
        (ONE_OF_33, "drop_last=True"),
    ],
    ids=["last layer", "loader", "slices", "batch of one"],
)
def test_other_samples_are_no_fix(tmp_path: Path, text: str, first: str) -> None:
    """Neither a batch of another size, nor evaluation in the middle of a training."""
    (only,) = rehearsed(tmp_path, HEAD + text + STEP).findings
    messages = [fix.message for fix in only.fixes]
    assert first in "".join(messages[:1])
    assert not any("eval()" in m or "batch_size" in m for m in messages)
    assert not any("i : i" in message for message in messages)


def test_a_single_sample_is_told_in_evaluation(tmp_path: Path) -> None:
    text = "net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8))\n"
    (only,) = rehearsed(tmp_path, HEAD + text + "net(torch.randn(1, 6))\n").findings
    assert [fix.message for fix in only.fixes] == ["`net.eval()`"]


def test_a_function_that_predicts_behind_a_training_evaluates(tmp_path: Path) -> None:
    text = """
def predict(model, sample):
    with torch.no_grad():
        return model(sample.unsqueeze(0))[0].argmax()

def main():
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        loss = F.cross_entropy(net(torch.randn(16, 6)), torch.randint(3, (16,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for sample in torch.randn(3, 6):
        print(predict(net, sample))

main()
"""
    (only,) = rehearsed(tmp_path, HEAD + text).findings
    assert only.fixes[0].message == "`model.eval()`"


def test_the_cause_of_an_error_is_not_told_twice(tmp_path: Path) -> None:
    (only,) = rehearsed(tmp_path, HEAD + LAST_SAMPLE + STEP).findings
    assert only.severity == "error"
    assert "the last sample of the state" in only.related[0].message


def test_a_tensor_is_not_replaced_by_a_number(tmp_path: Path) -> None:
    text = """
def put(table, where, values):
    return torch.scatter(table, 0, where, values)

table, where = torch.zeros(5, 7), torch.randint(0, 5, (1, 7))
print(put(table, where, torch.linspace(0.5, 3.0, 7) + 1).shape)
"""
    (only,) = rehearsed(tmp_path, HEAD + text).findings
    assert [fix.message for fix in only.fixes] == ["`values.unsqueeze(0)`"]
