"""Flags that freeze nothing, and evaluation that records gradients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(40, 10), torch.randint(0, 3, (40,)))
train, test = DataLoader(data, batch_size=8), DataLoader(data, batch_size=10)
model = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 3))
head = nn.Linear(3, 3)
FREEZE
parameters = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.SGD([p for p in parameters if p.requires_grad], lr=0.1)
for epoch in range(2):
    model.train()
    for x, y in train:
        loss = nn.functional.cross_entropy(head(model(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
EVALUATE
    print(correct)
"""

PLAIN = """\
    for x, y in test:
        correct += nn.functional.cross_entropy(head(model(x)), y)
"""
QUIET = """\
    with torch.no_grad():
        for x, y in test:
            correct += (head(model(x)).argmax(1) == y).sum().item()
"""


def found(folder: Path, freeze: str, evaluate: str = QUIET) -> list[tuple[str, str]]:
    """Code and first checked edit of each finding."""
    text = TRAINING.replace("FREEZE", freeze).replace("EVALUATE\n", evaluate)
    return [
        (each.code, each.fixes[0].message if each.fixes else "")
        for each in rehearsed(folder, text).findings
    ]


@pytest.mark.parametrize(
    ("freeze", "edit"),
    [
        ("for p in head.parameters():\n    p.require_grad = False",
         "`p.requires_grad = False`"),
        ("head.requires_grad = False", "`head.requires_grad_(False)`"),
        ("import argparse\nparser = argparse.ArgumentParser()\n"
         "parser.add_argument('-f', '--freeze', type=bool, default=True)\n"
         "args = parser.parse_args([])",
         '`type=lambda text: text.lower() in ("1", "true", "yes")`'),
    ],
)  # fmt: skip
def test_a_flag_that_torch_never_reads(tmp_path: Path, freeze: str, edit: str) -> None:
    assert found(tmp_path, freeze) == [("flag-without-effect", edit)]


@pytest.mark.parametrize(
    "freeze",
    [
        "",
        "head.requires_grad_(False)",
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--freeze', type=bool, default=False)",
        "for p in head.parameters():\n    p.requires_grad = False",
    ],
)
def test_what_freezes_is_quiet(tmp_path: Path, freeze: str) -> None:
    assert found(tmp_path, freeze) == []


def test_an_evaluation_that_records_gradients(tmp_path: Path) -> None:
    (only,) = found(tmp_path, "", PLAIN)
    assert only == (
        "evaluated-with-graph", "`with torch.no_grad():` around the loop",
    )  # fmt: skip


SHARED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Step:
    def __init__(self, optimizer=None):
        self.optimizer = optimizer

    def __call__(self, loss):
        if self.optimizer is not None:
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


def run(loader, model, step):
    total = 0.0
    for x, y in loader:
        total += step(nn.functional.cross_entropy(model(x), y))
    return total / len(loader)


data = TensorDataset(torch.randn(40, 10), torch.randint(0, 3, (40,)))
train, test = DataLoader(data, batch_size=8), DataLoader(data, batch_size=10)
model = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    loss = run(train, model, Step(optimizer))
    MODE
    EVALUATE
"""


@pytest.mark.parametrize(
    ("mode", "evaluate", "edit"),
    [
        ("model.eval()", "score = run(test, model, Step())",
         "`with torch.no_grad():` around the call"),
        ("model.train(False)", "run(test, model, Step())",
         "`with torch.no_grad():` around the call"),
        ("model.eval(); score = run(test, model, Step())", "pass",
         "`with torch.no_grad():` around the call"),
        ("model.eval()", "with torch.no_grad(): score = run(test, model, Step())", ""),
        ("model.eval()", "score = run(test, model, Step(optimizer))", ""),
    ],
)  # fmt: skip
def test_a_loop_that_trains_in_another_call(
    mode: str, evaluate: str, edit: str, tmp_path: Path
) -> None:
    text = SHARED.replace("MODE", mode).replace("EVALUATE", evaluate)
    fixes = [
        each.fixes[0].message
        for each in rehearsed(tmp_path, text).findings
        if each.code == "evaluated-with-graph"
    ]
    assert fixes == ([edit] if edit else [])


def test_two_models_that_are_compared_are_no_evaluation(tmp_path: Path) -> None:
    text = """\
    nets = [model, nn.Linear(10, 3)]
    outputs = [net(torch.randn(2, 10)) for net in nets]
"""
    assert found(tmp_path, "", text) == []


STYLE = """\
import torch
from torch import nn

features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).eval()
image = torch.rand(1, 3, 16, 16, requires_grad=True)
optimizer = torch.optim.Adam([image])
features.eval()
for step in range(3):
    optimizer.zero_grad()
    x, losses = image, []
    for layer in features:
        x = layer(x)
        losses.append(x.mean())
    sum(losses).backward()
    optimizer.step()
"""
SAM = """\
import torch
from torch import nn


class Sharp(torch.optim.Optimizer):
    def __init__(self, parameters, base):
        super().__init__(parameters, {})
        self.base = base(self.param_groups, lr=0.1)

    @torch.no_grad()
    def first_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["moved"] = p.grad * 0.1
                p.add_(self.state[p]["moved"])
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["moved"])
        self.base.step()
        self.zero_grad()


net = nn.Linear(4, 2)
optimizer = Sharp(net.parameters(), torch.optim.SGD)
for step in range(3):
    x = torch.randn(8, 4)
    net(x).square().mean().backward()
    optimizer.first_step()
    net(x).square().mean().backward()
    optimizer.second_step()
"""


@pytest.mark.parametrize("text", [STYLE, SAM], ids=["style", "sharpness"])
def test_gradients_that_are_used_elsewhere(text: str, tmp_path: Path) -> None:
    assert [each.message for each in rehearsed(tmp_path, text).findings] == []
