"""Functions whose name a value is given, each with another name for one of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F

model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def batches():
    for _ in range(3):
        yield torch.randn(8, 4), torch.randint(3, (8,))

"""
CASES = {
    "a loss": (
        """
        loss = nn.CrossEntropyLoss()
        for x, y in batches():
            optimizer.zero_grad()
            loss = loss(model(x), y)
            loss.backward()
            optimizer.step()
        """,
        "`loss` is a tensor, not the function any more: line 16 gives",
        "`criterion` for the function `loss`",
    ),
    "a loss of the name criterion": (
        """
        criterion = nn.CrossEntropyLoss()
        for x, y in batches():
            criterion = criterion(model(x), y)
            criterion.backward()
        """,
        "`criterion` is a tensor",
        "`criterion_fn` for the function `criterion`",
    ),
    "a function of its own": (
        """
        def accuracy(logits, y):
            return (logits.argmax(1) == y).float().mean()

        for x, y in batches():
            F.cross_entropy(model(x), y).backward()
            accuracy = accuracy(model(x), y)
            print(accuracy)
        """,
        "`accuracy` is a tensor",
        "`accuracy_value` for the value `accuracy`",
    ),
    "a parameter": (
        """
        def train(model, loss):
            for x, y in batches():
                loss = loss(model(x), y)
                loss.backward()

        train(model, nn.CrossEntropyLoss())
        """,
        "`loss` is a tensor",
        "`criterion` for the function `loss`",
    ),
    "a parameter that is a keyword": (
        """
        def train(model, loss):
            for x, y in batches():
                loss = loss(model(x), y)
                loss.backward()

        train(model, loss=nn.CrossEntropyLoss())
        """,
        "`loss` is a tensor",
        "`loss_value` for the value `loss`",
    ),
    "a local name": (
        """
        loss = nn.CrossEntropyLoss()

        def step(x, y):
            loss = loss(model(x), y)
            loss.backward()

        for x, y in batches():
            step(x, y)
        """,
        "`loss` is a name of `step` alone, as line 16 sets it",
        "`criterion` for the function `loss`",
    ),
    "an attribute": (
        """
        class Trainer:
            def __init__(self):
                self.loss = nn.CrossEntropyLoss()

            def step(self, x, y):
                self.loss = self.loss(model(x), y)
                self.loss.backward()

        trainer = Trainer()
        for x, y in batches():
            trainer.step(x, y)
        """,
        "`self.loss` is a tensor",
        "`self.criterion` for the function `self.loss`",
    ),
    "a child module": (
        """
        class Trainer(nn.Module):
            def __init__(self):
                super().__init__()
                self.loss = nn.CrossEntropyLoss()

            def step(self, x, y):
                self.loss = self.loss(model(x), y)
                self.loss.backward()

        trainer = Trainer()
        for x, y in batches():
            trainer.step(x, y)
        """,
        "`self.loss` is a module, and line 19 gives",
        "`self.criterion` for the function `self.loss`",
    ),
    "a model": (
        """
        net = nn.Sequential(model, nn.ReLU())
        for x, y in batches():
            net = net(x)
            F.cross_entropy(net, y).backward()
        """,
        "`net` is a tensor",
        "`net_value` for the value `net`",
    ),
    "a builtin": (
        """
        sum = 0.0
        for x, y in batches():
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            sum += 1.0
        print(sum([1, 2]))
        """,
        "`sum` is a number",
        "`sum_value` for the value `sum`",
    ),
}
RIGHT = {
    "two names": """
        criterion = nn.CrossEntropyLoss()
        for x, y in batches():
            loss = criterion(model(x), y)
            loss.backward()
        """,
    "a new function for each batch": """
        for x, y in batches():
            loss = nn.CrossEntropyLoss()
            loss = loss(model(x), y)
            loss.backward()
        """,
}
OTHERS = {
    "a tensor that is called": """
        weight = nn.Parameter(torch.randn(4))
        weight(torch.randn(4))
        """,
    "a tensor that is handed over": """
        def step(loss, x):
            return loss(x)

        step(torch.randn(4), torch.randn(4))
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_one_of_both_gets_another_name(name: str, tmp_path: Path) -> None:
    body, message, fix = CASES[name]
    report = rehearsed(tmp_path, HEAD + dedent(body))
    finding = next(f for f in report.findings if f.severity == "error")
    assert finding.message.startswith(message)
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_functions_that_keep_their_names(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + dedent(RIGHT[name]))
    assert not [f for f in report.findings if f.severity == "error"]


@pytest.mark.parametrize("name", OTHERS)
def test_tensors_that_never_were_functions(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + dedent(OTHERS[name]))
    finding = next(f for f in report.findings if f.severity == "error")
    assert "any more" not in finding.message
