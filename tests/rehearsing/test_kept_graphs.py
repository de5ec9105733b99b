"""Losses that are kept with their graphs: how they are kept, and what is not kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F

net, other = nn.Linear(6, 1), nn.Linear(1, 1)
optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
weights = list(net.parameters())
x = torch.randn(64, 6)
losses, history = [], []


def measure(rows):
    return (net(rows) ** 2).mean()


def fit(rows):
    loss = measure(rows)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def descend(rows):
    loss = measure(rows)
    grads = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for weight, grad in zip(weights, grads):
            weight -= 0.1 * grad
    return loss


def descend_twice(rows):
    descend(rows)
    return descend(rows)


"""
OBJECT = """\
class Trainer:
    def __init__(self):
        self.total, self.losses = 0, []

    def fit(self, rows):
        self.loss = measure(rows)
        optimizer.zero_grad()
        self.loss.backward()
        optimizer.step()
        {keep}


trainer = Trainer()
for i in range(30):
    trainer.fit(x)
"""
WRONG = {
    "an attribute that is added up": (
        OBJECT.format(keep="self.total += self.loss"),
        ("self.total += self.loss", "`self.loss.item()`"),
    ),
    "an attribute in a list": (
        OBJECT.format(keep="self.losses.append(self.loss)"),
        ("self.losses.append(self.loss)", "`self.loss.item()`"),
    ),
    "in the loop": (
        """\
for i in range(30):
    loss = measure(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
""",
        ("losses.append(loss)", "`loss.item()`"),
    ),
    "by a function": (
        """\
for i in range(30):
    loss = fit(x)
    losses.append(loss)
""",
        ("losses.append(loss)", "`loss.item()`"),
    ),
    "of autograd.grad": (
        """\
for i in range(30):
    loss = descend(x)
    losses.append(loss)
""",
        ("losses.append(loss)", "`loss.item()`"),
    ),
    "through two functions": (
        """\
for i in range(30):
    value = descend_twice(x)
    losses.append((i, value))
""",
        ("losses.append((i, value))", "`value.item()`"),
    ),
    "the call itself": (
        """\
for i in range(30):
    losses.append(fit(x))
""",
        ("losses.append(fit(x))", "`fit(x).item()`"),
    ),
    "once in each epoch": (
        """\
for epoch in range(10):
    for rows in x.split(4):
        loss = fit(rows)
    history.append(loss)
""",
        ("history.append(loss)", "`loss.item()`"),
    ),
    "one of two": (
        """\
for i in range(30):
    optimizer.zero_grad()
    first = measure(x)
    first.backward()
    second = (other(net(x)) ** 2).mean()
    second.backward()
    optimizer.step()
    history.append(first.item())
    losses.append(second)
""",
        ("losses.append(second)", "`second.item()`"),
    ),
}
RIGHT = {
    "numbers": """\
for i in range(30):
    losses.append(fit(x).item())
""",
    "detached": """\
for i in range(30):
    losses.append(descend(x).detach())
""",
    "the last one": """\
for i in range(30):
    last = descend(x)
print(last.item())
""",
    "summed and passed back": """\
for epoch in range(8):
    optimizer.zero_grad()
    losses = []
    for rows in x.split(8):
        loss = measure(rows)
        grads = torch.autograd.grad(loss, weights, retain_graph=True)
        losses.append(loss * grads[0].norm())
    torch.stack(losses).mean().backward()
    optimizer.step()
""",
    "gradients that are differentiated": """\
for epoch in range(8):
    optimizer.zero_grad()
    total, fast = 0, weights
    for rows in x.split(8):
        loss = F.linear(rows, *fast).pow(2).mean()
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [weight - 0.1 * grad for weight, grad in zip(fast, grads)]
        total = total + loss
    total.backward()
    optimizer.step()
""",
    "samples that descend": """\
for i in range(8):
    sample = torch.randn(4, 6, requires_grad=True)
    for step in range(6):
        (grad,) = torch.autograd.grad(net(sample).sum(), sample)
        sample = (sample - 0.1 * grad).detach().requires_grad_()
    losses.append(sample.detach())
    optimizer.zero_grad()
    net(sample.detach()).mean().backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_keeps_a_graph_is_found(name: str, tmp_path: Path) -> None:
    body, (statement, edit) = WRONG[name]
    report = rehearsed(tmp_path, HEAD + body)
    findings = [each for each in report.findings if each.code != "not-in-optimizer"]
    findings = [each for each in findings if each.code != "no-gradient"]
    (finding,) = findings
    assert finding.code == "graph-kept"
    assert finding.span is not None
    line = (HEAD + body).splitlines()[finding.span.line - 1].strip()
    assert line == statement
    assert finding.fixes[0].message == edit
    assert finding.fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_what_keeps_no_graph_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, HEAD + RIGHT[name])
    assert "graph-kept" not in [each.code for each in report.findings]


def test_edits_are_tried_beside_what_a_rehearsal_leaves_out(tmp_path: Path) -> None:
    body = WRONG["in the loop"][0]
    text = HEAD.replace("net(rows) **", "(net(rows) + torch.zeros(1)) **")
    text = text.replace(
        "net, other = nn.Linear(6, 1), nn.Linear(1, 1)",
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(6, 1)\n\n"
        "    def forward(self, x):\n"
        "        return self.fc(x) + torch.zeros(1, 1)\n\n\n"
        "net, other = Net(), nn.Linear(1, 1)",
    )
    (finding,) = [
        each
        for each in rehearsed(tmp_path, text + body).findings
        if each.code == "graph-kept"
    ]
    assert finding.fixes[0].message == "`loss.item()`"


def test_what_a_method_stores_and_returns_is_kept(tmp_path: Path) -> None:
    text = """
        import torch
        from torch import nn

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.net, self.records = nn.Linear(6, 2), []

            def training_step(self, x):
                record = {"loss": self.net(x).pow(2).mean(), "n": len(x)}
                self.records.append(record)
                return record

        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(9):
            optimizer.zero_grad()
            model.training_step(torch.randn(8, 6))["loss"].backward()
            optimizer.step()
        print(sum(record["loss"].item() for record in model.records))
    """
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.message.startswith("`record` is kept with its graph")
    assert finding.span is not None
    assert finding.span.line == 12
