"""Methods with names that nobody calls, each with the name that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.rows = torch.randn(12, 3)

    def {item}(self, index):
        return self.rows[index]

    def {length}(self):
        return len(self.rows)

class Shift:
    def {call}(self, x):
        return x + 1

class Net(nn.Module):
    def {init}(self, width):
        {above}
        self.fc = nn.Linear(3, width)

    def {forward}(self, x):
        return self.fc(x)

net, shift = Net(4), Shift()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in DataLoader(Rows(), batch_size=4, shuffle=True):
    optimizer.zero_grad()
    net(shift(x)).mean().backward()
    optimizer.step()
"""
RIGHT = {
    "item": "__getitem__", "length": "__len__", "call": "__call__",
    "init": "__init__", "forward": "forward", "above": "super().__init__()",
}  # fmt: skip
MISTAKES = [
    ("length", "len", "__len__"),
    ("length", "_len_", "__len__"),
    ("length", "__length__", "__len__"),
    ("length", "length", "__len__"),
    ("item", "getitem", "__getitem__"),
    ("item", "_getitem_", "__getitem__"),
    ("item", "__get_item__", "__getitem__"),
    ("call", "call", "__call__"),
    ("call", "_call_", "__call__"),
    ("call", "forward", "__call__"),
    ("init", "_init_", "__init__"),
    ("init", "__int__", "__init__"),
    ("forward", "foward", "forward"),
    ("forward", "call", "forward"),
    ("forward", "__forward__", "forward"),
    ("forward", "Forward", "forward"),
]


@pytest.mark.parametrize(("place", "name", "meant"), MISTAKES)
def test_the_method_that_is_meant_is_named(
    place: str, name: str, meant: str, tmp_path: Path
) -> None:
    words = {**RIGHT, place: name}
    report = rehearsed(tmp_path, PROGRAM.format(**words))
    finding = next(f for f in report.findings if f.severity == "error")
    assert f"has no `{meant}`" in finding.message
    assert f"never calls its `{name}`" in finding.message
    assert finding.fixes[0].message == f"`def {meant}` for `def {name}`"
    assert finding.fixes[0].checked


def test_a_data_set_without_a_length(tmp_path: Path) -> None:
    text = PROGRAM.format(**RIGHT)
    begin, end = text.index("    def __len__"), text.index("class Shift")
    report = rehearsed(tmp_path, text[:begin] + text[end:])
    finding = next(f for f in report.findings if f.severity == "error")
    assert "`Rows` has no `__len__`" in finding.message
    assert "`return len(self.rows)`" in finding.fixes[0].message
    assert finding.fixes[0].checked


ITERATOR = """
class Stream:
    def forward(self, x):
        return x

    def size(self):
        return 3

{used}
"""


@pytest.mark.parametrize(
    ("used", "word"),
    [("Stream()[0]", "subscriptable"), ("Stream().width", "attribute")],
)
def test_a_class_of_another_use_has_no_misspelt_method(
    used: str, word: str, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, ITERATOR.format(used=used))
    (finding,) = report.findings
    assert word in finding.message
    assert not finding.fixes


def test_right_names_are_quiet(tmp_path: Path) -> None:
    assert rehearsed(tmp_path, PROGRAM.format(**RIGHT)).findings == ()
