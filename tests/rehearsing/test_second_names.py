"""Target networks that were built apart and become a second name of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

AGENT = """\
import copy
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


class Agent:
    def __init__(self, shared=False):
        self.policy = build()
        self.target = build()
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.1)
        self.shared, self.steps = shared, 0

    def sync(self):
        pass

    def learn(self, x):
        with torch.no_grad():
            wanted = self.target(x).amax(1)
        loss = (self.policy(x).amax(1) - 0.9 * wanted - 1).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        UPDATE


agent = Agent()
for _ in range(6):
    agent.learn(torch.randn(16, 4))
    agent.sync()
"""
LOAD = "self.target.load_state_dict(self.policy.state_dict())"
ALIAS = "self.target = self.policy"
LATE = "if self.steps % 500 == 0:\n            "
SYNC = ("def sync(self):\n        pass", "def sync(self):\n        ")
WRONG = {
    "beside a load": (AGENT.replace("UPDATE", f"{LATE}{LOAD}\n            {ALIAS}"),
                      f"without `{ALIAS}`"),
    "in place of one": (AGENT.replace("UPDATE", LATE + ALIAS), f"`{LOAD}`"),
    "a counter": (
        AGENT.replace("UPDATE", "if self.steps == 500:\n            " + ALIAS),
        f"`{LOAD}`",
    ),
    "a method": (
        AGENT.replace(SYNC[0], SYNC[1] + ALIAS).replace("UPDATE", "pass"),
        f"`{LOAD}`",
    ),
    "in the constructor": (
        AGENT.replace(f"{LOAD}\n", f"{LOAD}\n        {ALIAS}\n")
        .replace("UPDATE", "pass"),
        f"without `{ALIAS}`",
    ),
}  # fmt: skip
CHOICE = "if self.shared:\n            "
RIGHT = {
    "a load": AGENT.replace("UPDATE", LATE + LOAD),
    "a copy": AGENT.replace(
        "UPDATE", LATE + "self.target = copy.deepcopy(self.policy)"
    ),
    "a choice": AGENT.replace(
        "self.shared, self.steps = shared, 0",
        "self.shared, self.steps = shared, 0\n        " + CHOICE + ALIAS,
    ).replace("UPDATE", "pass"),
    "another branch": AGENT.replace(
        "UPDATE", CHOICE + f"{ALIAS}\n        else:\n            {LOAD}"
    ),
    "a new policy": AGENT.replace(
        "UPDATE",
        LATE + f"{ALIAS}\n            self.policy = build()\n"
        "            self.optimizer = torch.optim.SGD(self.policy.parameters(), 0.1)",
    ),
    "an exchange": AGENT.replace(
        "UPDATE", LATE + "self.target, self.policy = self.policy, self.target"
    ),
    "a name of the function": AGENT.replace("UPDATE", "target = self.policy"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_second_name_is_found(name: str, tmp_path: Path) -> None:
    text, fix = WRONG[name]
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "model-not-copied"
    assert "is the same model as `self.policy` from here on" in finding.message
    assert finding.fixes[0].message == fix


@pytest.mark.parametrize("name", RIGHT)
def test_models_of_their_own_are_right(name: str, tmp_path: Path) -> None:
    codes = [found.code for found in rehearsed(tmp_path, RIGHT[name]).findings]
    assert "model-not-copied" not in codes
