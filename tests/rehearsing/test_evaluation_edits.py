"""One sample for a batch norm in training: a policy that acts, a prediction."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))

    def act(self, x):
        return self(x).argmax(1).item()


class Agent:
    def __init__(self, net):
        self.net = net

    def choose(self, state):
        {choose}


net = Net()
agent = Agent(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def learn():
    {train}
    loss = F.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


{start}
for episode in range(3):
    for t in range(2):
        {act}
    learn()
"""
CHOICE = "agent.choose(torch.randn(1, 4))"
SCORES = "scores = self.net(state)\n        return scores.argmax(1)"
IN_PLACE = (
    "with torch.no_grad():\n            action = net(torch.randn(1, 4)).argmax(1)"
)
CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "a policy of an object": (
        {"choose": "return self.net(state).argmax(1)", "train": "net.train()"},
        ["self.net.eval()"],
    ),
    "scores with a name": (
        {"choose": SCORES, "train": "pass"},
        ["self.net.eval()", "self.net.train()"],
    ),
    "in what is returned": (
        {"choose": "return self.net(state).argmax(1)", "train": "pass"},
        ["self.net.eval()", "net.train()"],
    ),
    "a method of the network": (
        {"act": "net.act(torch.randn(1, 4))", "train": "net.train()"},
        ["self.eval()"],
    ),
    "trained mode before the loop only": (
        {"act": IN_PLACE, "train": "pass", "start": "net.train()"},
        ["net.eval()", "net.train()"],
    ),
    "in the loop": ({"act": IN_PLACE, "train": "net.train()"}, ["net.eval()"]),
}


def find_errors(folder: Path, settings: dict[str, str]) -> list[Finding]:
    """Return the errors of a training with these lines."""
    lines = {"choose": "pass", "train": "pass", "start": "", "act": CHOICE, **settings}
    findings = rehearsed(folder, HEAD.format(**lines)).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("name", CASES)
def test_a_model_acts_in_evaluation_and_learns_in_training(
    name: str, tmp_path: Path
) -> None:
    settings, edits = CASES[name]
    (finding,) = find_errors(tmp_path, settings)
    assert finding.code == "one-value-per-channel"
    assert any("in training mode here" in note.message for note in finding.related)
    assert finding.fixes[0].checked
    assert [edit.text.strip() for edit in finding.fixes[0].edits] == edits


@pytest.mark.parametrize(
    "act",
    [
        "net.eval()\n        net.act(torch.randn(1, 4))\n        net.train()",
        "net.act(torch.randn(2, 4)[:, :]) if False else net(torch.randn(2, 4))",
    ],
)
def test_acting_in_evaluation_is_quiet(act: str, tmp_path: Path) -> None:
    assert find_errors(tmp_path, {"act": act}) == []


def test_a_loss_of_one_sample_is_not_computed_in_evaluation(tmp_path: Path) -> None:
    act = "F.mse_loss(net(torch.randn(1, 4)), torch.randn(1, 2)).backward()"
    (finding,) = find_errors(tmp_path, {"act": act})
    assert not any("eval()" in fix.message for fix in finding.fixes)


def test_a_loss_in_a_function_of_its_own_is_not_computed_in_evaluation(
    tmp_path: Path,
) -> None:
    """The backward pass is in the caller's loop, not beside the call."""
    train = "loss = compute(torch.randn(1, 4))\n    optimizer.zero_grad()\n    "
    train += "loss.backward()\n    return"
    start = "def compute(x):\n    return F.mse_loss(net(x), torch.zeros(len(x), 2))\n"
    (finding,) = find_errors(tmp_path, {"act": "pass", "train": train, "start": start})
    assert not any("eval()" in fix.message for fix in finding.fixes)


LEFT = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def check(self, when=0):
        self.model.eval()
        with torch.no_grad():
            for x, y in batches[:2]:
                nn.functional.cross_entropy(self.model(x), y)

    def fit(self):
        self.model.train()
        for step, (x, y) in enumerate(batches):
            if step % 4 == 3:
                {check}
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()


def measure(model, pairs):
    model.eval()
    with torch.no_grad():
        return [nn.functional.cross_entropy(model(x), y) for x, y in pairs]


batches = [(torch.randn(8, 6), torch.randint(3, (8,))) for _ in range(8)]
Trainer(nn.Sequential(nn.Linear(6, 8), nn.Dropout(), nn.Linear(8, 3))).fit()
"""


@pytest.mark.parametrize(
    "check",
    [
        "self.check()",
        "self.check(when=step)",
        "losses = measure(self.model, batches[:2])",
        "losses = measure(pairs=batches[:2], model=self.model)",
    ],
)
def test_training_mode_comes_back_after_the_call_that_left_it(
    check: str, tmp_path: Path
) -> None:
    text = LEFT.format(check=check)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "trained-in-eval-mode"
    called = check.removeprefix("losses = ")
    assert finding.fixes[0].message == f"`self.model.train()` after `{called}`"


def test_training_mode_that_comes_back_is_quiet(tmp_path: Path) -> None:
    text = LEFT.format(check="self.check(); self.model.train()")
    assert not rehearsed(tmp_path, text).findings
