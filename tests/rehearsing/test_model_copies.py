"""Target networks and averages that are the model itself, and those that are copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)


def sync(target, source):
    target.load_state_dict(source.state_dict())


double = True
net = Net()
BUILD
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(16, 4)
    with torch.no_grad():
        wanted = target(x)
    loss = (net(x) - wanted - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
UPDATE
"""
COPY = "target.load_state_dict(net.state_dict())"
SOFT = """
with torch.no_grad():
    for p, q in zip(target.parameters(), net.parameters()):
        p.mul_(0.99).add_(q, alpha=0.01)"""
WRONG = {
    "a second name": ("target = net", COPY),
    "in a function": ("target = net", "sync(target, net)"),
    "a state with a name": (
        "target = net.eval()", "state = net.state_dict()\ntarget.load_state_dict(state)"
    ),
    "a soft update": ("target = net", SOFT),
    "a soft update of data": (
        "target = net",
        "for old, new in zip(target.parameters(), net.parameters()):\n"
        "    old.data.copy_(0.9 * old.data + 0.1 * new.data)",
    ),
    "now and then": (
        "target = net", "if step % 3 == 0:\n    " + COPY
    ),
    "states of an average": (
        "target = net",
        "for a, b in zip(target.state_dict().values(), net.state_dict().values()):\n"
        "    a.copy_(a * 0.9 + b * 0.1)",
    ),
}  # fmt: skip
RIGHT = {
    "a copy": ("target = copy.deepcopy(net)", COPY),
    "a second model": ("target = Net()", "sync(target, net)"),
    "a soft update of a copy": ("target = copy.deepcopy(net)", SOFT),
    "a soft update of the data of a copy": (
        "target = copy.deepcopy(net)",
        "for old, new in zip(target.parameters(), net.parameters()):\n"
        "    old.data.copy_(0.9 * old.data + 0.1 * new.data)",
    ),
    "states of a copy": (
        "target = copy.deepcopy(net)",
        "for a, b in zip(target.state_dict().values(), net.state_dict().values()):\n"
        "    a.copy_(a * 0.9 + b * 0.1)",
    ),
    "its own state": ("target = net", "net.load_state_dict(net.state_dict())"),
    "by choice": ("target = copy.deepcopy(net) if not double else net", COPY),
    "by another choice": (
        "if double:\n    target = net\nelse:\n    target = copy.deepcopy(net)", COPY
    ),
    "without an update": ("target = net", "pass"),
    "a wrapper": (
        "wrapped = nn.ModuleDict({'module': net})\ntarget = net",
        "net.load_state_dict(wrapped['module'].state_dict())\n",
    ),
    "a norm of both": (
        "target = net",
        "far = sum((p - q).norm() for p, q in zip(target.parameters(), "
        "net.parameters()))",
    ),
}  # fmt: skip


def _findings(folder: Path, build: str, update: str) -> list[tuple[str, int]]:
    """The code of each finding, with its number of fixes that were tried."""
    pad = "\n".join("    " + line for line in update.strip().split("\n"))
    report = rehearsed(folder, SCRIPT.replace("BUILD", build).replace("UPDATE", pad))
    assert report.complete
    return [(each.code, len(each.fixes)) for each in report.findings]


EXCHANGE = """
class Average:
    def __init__(self, model):
        self.copy = copy.deepcopy(model)

    @torch.no_grad()
    def exchange(self, model):
        for mine, theirs in zip(self.copy.parameters(), model.parameters()):
            kept = theirs.data.clone()
            theirs.data.copy_(mine.data)
            mine.data.copy_(kept)


class Run:
    def __init__(self, model):
        self.model = model
        self.average = Average(model)


run = Run(net)
target = net
"""


def test_weights_that_two_models_exchange_are_right(tmp_path: Path) -> None:
    """Every storage that the loop reads is written there, as in one model."""
    update = "run.average.exchange(run.model)"
    assert _findings(tmp_path, EXCHANGE, update) == []


@pytest.mark.parametrize("name", WRONG)
def test_one_model_with_two_names_is_found(name: str, tmp_path: Path) -> None:
    ((code, fixes),) = _findings(tmp_path, *WRONG[name])
    assert code == "model-not-copied"
    assert fixes == 1


BUILT = {
    "itself, in evaluation": (
        "target = net.eval()", COPY, "`copy.deepcopy(net).eval()`"
    ),
    "a shallow copy": (
        "target = copy.copy(net)", COPY, "`copy.deepcopy(net)`"
    ),
    "two names at once": (
        "net = target = Net()", COPY, "`target = copy.deepcopy(net)`"
    ),
    "loaded twice": (
        "target = net.to('cpu')\ntarget.load_state_dict(net.state_dict())", COPY,
        "`copy.deepcopy(net).to('cpu')`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT)
def test_a_copy_is_suggested_for_the_second_name(name: str, tmp_path: Path) -> None:
    build, update, fix = BUILT[name]
    pad = "\n".join("    " + line for line in update.strip().split("\n"))
    report = rehearsed(tmp_path, SCRIPT.replace("BUILD", build).replace("UPDATE", pad))
    (finding,) = report.findings
    assert [each.message for each in finding.fixes] == [fix]


@pytest.mark.parametrize("name", RIGHT)
def test_copies_and_one_model_on_purpose_are_right(name: str, tmp_path: Path) -> None:
    assert _findings(tmp_path, *RIGHT[name]) == []


OWN = {
    "its own state": (
        "target = Net()\ntarget.load_state_dict(net.state_dict())",
        "target.load_state_dict(target.state_dict())",
        "`net.state_dict()`",
    ),
    "its own parameters": (
        "target = copy.deepcopy(net).eval()",
        SOFT.replace("net.parameters()", "target.parameters()"),
        "`net.parameters()`",
    ),
    "now and then": (
        "target = copy.deepcopy(net)",
        "if step % 3 == 0:\n    target.load_state_dict(target.state_dict())",
        "`net.state_dict()`",
    ),
}
NO_COPY = {
    "one model": ("target = Net()", "net.load_state_dict(net.state_dict())"),
    "a model without an origin": (
        "target = Net()", "target.load_state_dict(target.state_dict())"
    ),
    "a norm of its own": (
        "target = copy.deepcopy(net)",
        "far = sum((p * q).sum() for p, q in zip(target.parameters(), "
        "target.parameters()))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_a_copy_that_gets_its_own_weights_is_found(name: str, tmp_path: Path) -> None:
    build, update, fix = OWN[name]
    pad = "\n".join("    " + line for line in update.strip().split("\n"))
    report = rehearsed(tmp_path, SCRIPT.replace("BUILD", build).replace("UPDATE", pad))
    (finding,) = report.findings
    assert finding.code == "model-not-copied"
    assert [each.message for each in finding.fixes] == [fix]


@pytest.mark.parametrize("name", NO_COPY)
def test_a_state_that_is_loaded_again_is_right(name: str, tmp_path: Path) -> None:
    assert _findings(tmp_path, *NO_COPY[name]) == []
