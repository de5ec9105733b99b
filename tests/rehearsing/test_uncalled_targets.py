"""Target networks that get weights again and again, and that nothing calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import copy

import torch
import torch.nn.functional as F
from torch import nn


def soft_update(net, target, tau=0.01):
    for p, q in zip(net.parameters(), target.parameters()):
        q.data.copy_(tau * p.data + (1 - tau) * q.data)


class Agent:
    def __init__(self, gamma=0.9):
        self.gamma = gamma
        self.net = nn.Linear(4, 2)
        self.target_net = copy.deepcopy(self.net)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        START

    def learn(self, s, a, r, n, done):
        q = self.net(s).gather(1, a)
        with torch.no_grad():
            VALUE
        goal = r + self.gamma * (1 - done) * value
        loss = F.smooth_l1_loss(q, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def sync(self):
        UPDATE


agent = Agent()
for step in range(4):
    agent.learn(torch.randn(8, 4), torch.zeros(8, 1, dtype=torch.long),
                torch.rand(8, 1), torch.randn(8, 4), torch.zeros(8, 1))
    if step % 2 == 0:
        agent.sync()
"""
OWN = "value = self.net(n).max(1, keepdim=True)[0]"
LOAD = "self.target_net.load_state_dict(self.net.state_dict())"
DOUBLE = (
    "best = self.net(n).argmax(1, keepdim=True); value = self.second(n).gather(1, best)"
)
WRONG = {
    "loaded": ("pass", OWN, LOAD, "net"),
    "moved": ("self.target_net.eval()", OWN, "soft_update(self.net, self.target_net)",
        "net"),
    "in a loop": ("pass", OWN,
        "for p, q in zip(self.net.parameters(), self.target_net.parameters()):"
        " q.data.lerp_(p.data, 0.1)", "net"),
    "under a second name": ("self.second = self.net", DOUBLE, LOAD, "second"),
}  # fmt: skip
RIGHT = {
    "it is called": ("pass", OWN.replace("net", "target_net"), LOAD),
    "under a second name": ("self.second = self.target_net", DOUBLE, LOAD),
    "it chooses": ("pass",
        "best = self.target_net(n).argmax(1, keepdim=True);"
        " value = self.net(n).gather(1, best)", LOAD),
    "it is never updated": ("pass", OWN, "pass"),
    "it only began with these weights": (LOAD, OWN, "pass"),
    "by its name": (
        "pass", "value = getattr(self, 'target' + '_net')(n).max(1, True)[0]", LOAD
    ),
    "handed to a function": ("self.ask = lambda net, x: net(x)",
        "value = self.ask(self.target_net, n).max(1, keepdim=True)[0]", LOAD),
}  # fmt: skip


def find(folder: Path, case: tuple[str, ...]) -> list[str]:
    """Checked edits of the findings of a network that is not asked."""
    text = PROGRAM
    for word, new in zip(("START", "VALUE", "UPDATE"), case, strict=False):
        text = text.replace(word, new)
    return [
        f.fixes[0].message if f.fixes else ""
        for f in rehearsed(folder, text).findings
        if f.code == "model-not-copied"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_target_network_that_nothing_calls(name: str, tmp_path: Path) -> None:
    case = WRONG[name]
    assert find(tmp_path, case) == [f"`self.target_net` for `self.{case[3]}`"]


@pytest.mark.parametrize("name", RIGHT)
def test_target_networks_that_are_asked_or_left_alone(
    name: str, tmp_path: Path
) -> None:
    assert find(tmp_path, RIGHT[name]) == []
