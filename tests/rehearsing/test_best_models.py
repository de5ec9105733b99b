"""Best models of a training that goes on: the model itself, or a copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
from torch import nn


class Trainer:
    def __init__(self, net):
        self.net, self.best_net, self.low = net, None, 1e9
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def epoch(self):
        for x, y in batches:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.net(x), y).backward()
            self.optimizer.step()

    def fit(self):
        for epoch in range(4):
            self.epoch()
            loss = measure(self.net)
            if loss < self.low:
                self.low = loss
                self.best_net = OWN
        return measure(self.best_net)


def train_epoch(net, optimizer):
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()


def measure(net):
    with torch.no_grad():
        return sum(nn.functional.mse_loss(net(x), y).item() for x, y in batches)


def build():
    net = nn.Linear(4, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def fit(net, optimizer):
    low, best = 1e9, None
    for epoch in range(4):
        train_epoch(net, optimizer)
        loss = measure(net)
        is_best = loss < low
        if is_best:
            low, best = loss, KEPT
    return best


batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(3)]
net, optimizer = build()
net.train()
low, best_net = 1e9, None
LOOP
"""
STEPS = """
for epoch in range(4):
    for x, y in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
    loss = measure(net)
    if loss < low:
        low = loss
        best_net = net
print(measure(best_net))
"""
WRONG = {
    "steps in the loop": STEPS,
    "steps in a function": STEPS.replace(
        STEPS[STEPS.index("    for x") : STEPS.index("    loss =")],
        "    train_epoch(net, optimizer)\n",
    ),
    "two at once": STEPS.replace("low = loss\n", "pass\n").replace(
        "best_net = net\n", "low, best_net = loss, net\n"
    ),
    "a flag": STEPS.replace("if loss < low", "is_best = loss < low\n    if is_best"),
}
QUIET = {
    "a copy": STEPS.replace("best_net = net", "best_net = copy.deepcopy(net)"),
    "a model for each turn": STEPS.replace(
        "    for x", "    net, optimizer = build()\n    for x"
    ),
    "the end of the training": STEPS.replace(
        "best_net = net\n", "best_net = net\n        break\n"
    ),
    "saved and loaded": STEPS.replace(
        "best_net = net\n",
        "best_net = net\n        torch.save(net.state_dict(), 'best.pt')\n",
    )
    + "best_net.load_state_dict(torch.load('best.pt'))\n",
    "never read": STEPS.replace("measure(best_net)", "low"),
    "the last one": STEPS.replace(
        "if loss < low:\n        low = loss", "if epoch == 3:"
    ),
    "no training": STEPS.replace(
        STEPS[STEPS.index("    for x") : STEPS.index("    loss =")], ""
    ),
}


def explain(folder: Path, loop: str, own: str = "net", kept: str = "net") -> list[str]:
    """Return the fixes of models that are not copied, of a script with such a loop."""
    text = SCRIPT.replace("OWN", own).replace("KEPT", kept).replace("LOOP", loop)
    findings = rehearsed(folder, text).findings
    assert {finding.code for finding in findings} <= {"model-not-copied"}
    return [finding.fixes[0].message for finding in findings]


COPY, OF_SELF = "copy.deepcopy(net)", "copy.deepcopy(self.net)"


@pytest.mark.parametrize("case", WRONG)
def test_a_best_model_that_is_no_copy(case: str, tmp_path: Path) -> None:
    assert explain(tmp_path, WRONG[case], OF_SELF, COPY) == [f"`{COPY}`"]


@pytest.mark.parametrize("case", QUIET)
def test_a_best_model_that_may_be_kept(case: str, tmp_path: Path) -> None:
    assert not explain(tmp_path, QUIET[case], OF_SELF, COPY)


def test_a_best_model_of_a_trainer_and_of_a_function(tmp_path: Path) -> None:
    loop = "Trainer(net).fit()"
    assert explain(tmp_path, loop, "self.net", COPY) == [f"`{OF_SELF}`"]
    loop = "measure(fit(net, optimizer))"
    assert explain(tmp_path, loop, OF_SELF, "net") == [f"`{COPY}`"]


STOPPER = """
class EarlyStopping:
    def __init__(self):
        self.best_loss, self.best, self.count = 1e9, None, 0

    def METHOD(self, loss, network):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best = HELD
        else:
            self.count += 1

stopper = EarlyStopping()
for epoch in range(4):
    train_epoch(net, optimizer)
    stopperCALL(measure(net), net)
    if stopper.count == 3:
        break
print(measure(READ))
"""


def stopping(held: str, read: str = "stopper.best", method: str = "__call__") -> str:
    """Return a loop with early stopping that holds a model."""
    call = "" if method == "__call__" else f".{method}"
    loop = STOPPER.replace("HELD", held).replace("READ", read)
    return loop.replace("METHOD", method).replace("CALL", call)


@pytest.mark.parametrize("method", ["__call__", "step"])
def test_a_model_that_early_stopping_holds(method: str, tmp_path: Path) -> None:
    loop = stopping("network", method=method)
    assert explain(tmp_path, loop, OF_SELF, COPY) == ["`copy.deepcopy(network)`"]
    loop = stopping("copy.deepcopy(network)", method=method)
    assert not explain(tmp_path, loop, OF_SELF, COPY)


def test_a_model_that_early_stopping_holds_and_nobody_reads(tmp_path: Path) -> None:
    assert not explain(tmp_path, stopping("network", "net"), OF_SELF, COPY)


def test_a_loss_that_early_stopping_holds_is_no_model(tmp_path: Path) -> None:
    loop = stopping("copy.deepcopy(network)")
    step = "    optimizer.zero_grad()\n    measured(net).backward()\n"
    loop = loop.replace("(measure(net), net)", "(loss, net)").replace(
        "    train_epoch(net, optimizer)\n",
        f"{step}    optimizer.step()\n    loss = measure(net)\n",
    )
    loop = f"measured = lambda net: nn.functional.mse_loss(net(x), y)\n{loop}"
    loop = f"x, y = batches[0]\n{loop}"
    loop += "print(stopper.best_loss)\n"
    assert not explain(tmp_path, loop, OF_SELF, COPY)


def test_the_epoch_that_early_stopping_holds_is_no_model(tmp_path: Path) -> None:
    loop = stopping("epoch", "net").replace("network", "epoch")
    loop = loop.replace("(measure(net), net)", "(loss.item(), epoch)").replace(
        "    train_epoch(net, optimizer)\n",
        "    for x, y in batches:\n"
        "        optimizer.zero_grad()\n"
        "        loss = nn.functional.mse_loss(net(x), y)\n"
        "        loss.backward()\n"
        "        optimizer.step()\n",
    )
    assert not explain(tmp_path, f"{loop}print(stopper.best)\n", OF_SELF, COPY)
