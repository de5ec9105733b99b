"""Names that stand for something else than they are read as: each with its cause, and
with the edit that an answer gives.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, random_split

class Items(Dataset):
    classes = ["cat", "dog"]

    def __init__(self, targets=None):
        self.targets = torch.arange(20) % 2 if targets is None else targets

    def {length}(self):
        return 20

    def {item}(self, i):
        return torch.randn(6), self.targets[i]

def fit(loader, net=nn.Linear(6, 2)):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
"""
LOOP = """
loss = nn.CrossEntropyLoss()
net = nn.Linear(6, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Items(), 4):
    optimizer.zero_grad()
    loss = loss(net(x), y)
    loss.backward()
    optimizer.step()
"""
CASES = {
    "a loss that takes the name of its function": (
        LOOP,
        "`loss` is a `Tensor` since line 29",
        "`criterion` for the function",
    ),
    "a score that takes the name of its function": (
        """
def accuracy(out, y):
    return (out.argmax(1) == y).float().mean()

net = nn.Linear(6, 2)
for x, y in DataLoader(Items(), 4):
    accuracy = accuracy(net(x), y)
""",
        "`accuracy` is a `Tensor` since line 29",
        "`accuracy_fn` for the function",
    ),
    "a number that hides a function of Python": (
        """
sum = 0
for x, y in DataLoader(Items(), 4):
    sum += len(x)
print(sum, sum([1, 2]))
""",
        "hides Python's `sum`",
        "`sum_value`",
    ),
    "labels of a part": (
        """
train, test = random_split(Items(), [14, 6])
counts = torch.bincount(train.targets)
fit(DataLoader(train, 4))
""",
        "`train` is a `Subset`, and `targets` belongs to `train.dataset`",
        "`train.dataset.targets[train.indices]`",
    ),
    "labels of a part, in a list": (
        """
train = Subset(Items([0, 1] * 10), range(10))
counts = torch.bincount(torch.tensor(train.targets))
""",
        "`train.indices` says which samples",
        "`[train.dataset.targets[i] for i in train.indices]`",
    ),
    "classes of a part": (
        "train, test = random_split(Items(), [14, 6])\nprint(len(train.classes))\n",
        "`classes` belongs to `train.dataset`",
        "`train.dataset.classes`",
    ),
    "labels of joined sets": (
        """
both = ConcatDataset([Items(), Items()])
counts = torch.bincount(torch.stack(list(both.targets)))
""",
        "`targets` belongs to `both.datasets`",
        "`[value for each in both.datasets for value in each.targets]`",
    ),
    "a head that is one layer": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(6, 10)

    def forward(self, x):
        return self.classifier(x)

net = Net()
width = net.classifier[1].in_features
net.classifier[1] = nn.Linear(width, 2)
fit(DataLoader(Items(), 4), net)
""",
        "`net.classifier` is one `nn.Linear`, not a list of layers",
        "`net.classifier`",
    ),
    "a module for its parameters": (
        """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 2)

net = Net()
optimizer = torch.optim.Adam(net, lr=0.1)
net.fc(torch.randn(3, 6)).sum().backward()
optimizer.step()
""",
        "`net` is a module, and an optimizer takes its parameters",
        "`net.parameters()`",
    ),
    "random numbers for what a model computes": (
        """
logits = torch.randn(4, 2)
F.cross_entropy(logits, torch.tensor([0, 1, 1, 0])).backward()
""",
        "draws numbers that require no gradient",
        "`torch.randn(4, 2, requires_grad=True)`",
    ),
    "an action that lacks a dim": (
        """
net = nn.Linear(6, 2)
def act(x, greedy):
    if greedy:
        return net(x).max(1)[1].view(1, 1)
    return torch.tensor([1])

taken = torch.cat([act(torch.randn(1, 6), i % 2) for i in range(8)])
net(torch.randn(8, 6)).gather(1, taken).sum().backward()
""",
        "joins tensors with as many dims",
        "`torch.tensor([1]).unsqueeze(0)`",
    ),
}
NAMES = {
    "__len__": ("len", "_len_", "length"),
    "__getitem__": ("getitem", "__getitems", "get_item"),
}
RIGHT = "fit(DataLoader(Items(), 4))\n"


def write(text: str, length: str = "__len__", item: str = "__getitem__") -> str:
    return HEAD.format(length=length, item=item) + text.removeprefix("\n")


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_first_fix(name: str, tmp_path: Path) -> None:
    text, words, fix = CASES[name]
    report = rehearsed(tmp_path, write(text))
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert words in errors[0].message
    assert errors[0].fixes[0].message == fix


@pytest.mark.parametrize("wanted", NAMES)
def test_a_method_that_nothing_asks_for(wanted: str, tmp_path: Path) -> None:
    for name in NAMES[wanted]:
        words = {"length" if wanted == "__len__" else "item": name}
        report = rehearsed(tmp_path, write(RIGHT, **words))
        error = next(f for f in report.findings if f.severity == "error")
        assert error.message.startswith(f"`Items` has no `{wanted}`"), name
        assert error.fixes[0].message == f"`def {wanted}`", name


def test_a_class_without_the_method_is_told_as_python_tells_it(tmp_path: Path) -> None:
    program = write("print(len(nn.Linear(2, 3)), Items)\n")
    report = rehearsed(tmp_path, program)
    assert "has no len()" in report.findings[0].message


def test_right_names_are_quiet(tmp_path: Path) -> None:
    assert not rehearsed(tmp_path, write(RIGHT)).findings
