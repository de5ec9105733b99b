"""Adversarial training: labels of the other side, steps of the other optimizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import torch
from torch import nn

G = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 20))
D = nn.Sequential(nn.Linear(20, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
bce = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
for _ in range(3):
    x = torch.randn(16, 20)
"""
PAIR = (
    HEAD
    + """\
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    fake = G(torch.randn(16, 8))
    loss_d = bce(D(x), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
"""
)
FILLED = (
    HEAD
    + """\
    label = torch.full((16, 1), 1.0)
    D.zero_grad()
    bce(D(x), label).backward()
    fake = G(torch.randn(16, 8))
    label.fill_(0.0)
    bce(D(fake.detach()), label).backward()
    opt_d.step()
    G.zero_grad()
    label.fill_(1.0)
    bce(D(fake), label).backward()
    opt_g.step()
"""
)
SMOOTH = PAIR.replace("bce(D(x), ones)", "bce(D(x), 0.9 * ones)")
WRONG = {
    "a generator that is found out": (
        PAIR.replace("loss_g = bce(D(fake), ones)", "loss_g = bce(D(fake), zeros)"),
        "learns to be found out",
        "`ones`",
    ),
    "one answer": (
        PAIR.replace("(fake.detach()), zeros)", "(fake.detach()), ones)"),
        "learns nothing that tells them apart",
        "`zeros`",
    ),
    "not filled again": (
        FILLED.replace("    label.fill_(1.0)\n", ""),
        "learns to be found out",
        "`torch.ones_like(label)`",
    ),
    "never filled": (
        FILLED.replace("    label.fill_(0.0)\n", ""),
        "learns nothing that tells them apart",
        "`torch.zeros_like(label)`",
    ),
    "the other optimizer": (
        PAIR.replace("    opt_g.step()", "    opt_d.step()"),
        "`opt_g` never steps: its gradients are cleared and computed, and `opt_d`",
        "`opt_g.step()`",
    ),
}
RIGHT = {
    "labels": PAIR,
    "filled": FILLED,
    "smooth labels": SMOOTH,
    "without detach": PAIR.replace("fake.detach()", "fake").replace(
        "    loss_g = bce", "    fake = G(torch.randn(16, 8))\n    loss_g = bce"
    ),
    "drawn labels": PAIR.replace("torch.ones(16, 1)", "torch.rand(16, 1) * 0.2 + 0.8"),
    "the other way round": PAIR.replace("ones, zeros =", "zeros, ones ="),
    "a loss that is turned": PAIR.replace(
        "loss_g = bce(D(fake), ones)", "loss_g = bce(D(fake), ones).mean()"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_other_side_is_told(name: str, tmp_path: Path) -> None:
    program, said, fix = WRONG[name]
    (finding,) = rehearsed(tmp_path, program).findings
    assert said in finding.message
    assert [edit.message for edit in finding.fixes if edit.checked] == [fix]


@pytest.mark.parametrize("name", RIGHT)
def test_adversarial_training_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, RIGHT[name])
    assert report.complete
    assert [finding.message for finding in report.findings] == []


VALUES = """\
import copy
import torch
import torch.nn.functional as F
from torch import nn

q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters())
gamma = 0.99
memory = [torch.randn(60, 4), torch.randn(60, 4), torch.randint(3, (60,))]
memory += [torch.randn(60), (torch.rand(60) < 0.1).float()]
for step in range(4):
    i = torch.randint(60, (16,))
    state, after, action, reward, done = [part[i] for part in memory]
    value = q(state).gather(1, action[:, None]).squeeze(1)
    with torch.no_grad():
        best = target(after).max(1)[0]
    goal = reward + gamma * (1 - done) * best
    loss = F.smooth_l1_loss(value, goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 0:
        target.load_state_dict(q.state_dict())
"""
VALUES_WRONG = {
    "numbers of actions": (
        VALUES.replace(".max(1)[0]", ".max(1)[1]"),
        "`best` holds the numbers of the best actions",
        "`target(after).max(1)[0]`",
    ),
    "argmax": (
        VALUES.replace(".max(1)[0]", ".argmax(1)"),
        "`best` holds the numbers of the best actions",
        "`target(after).max(1).values`",
    ),
    "indices": (
        VALUES.replace(".max(1)[0]", ".max(dim=1).indices"),
        "`best` holds the numbers of the best actions",
        "`target(after).max(dim=1).values`",
    ),
    "the end for the rest": (
        VALUES.replace("(1 - done)", "done"),
        "`done` is 1 where an episode has ended",
        "`(1 - done)`",
    ),
    "a target that is trained": (
        VALUES.replace("with torch.no_grad()", "if True").replace(
            "best = target(", "best = q("
        ),
        "`goal` is the target, and still has the graph of the next state's value",
        "`goal.detach()`",
    ),
    "the target first": (
        VALUES.replace("with torch.no_grad()", "if True")
        .replace("best = target(", "best = q(")
        .replace("(value, goal)", "(goal, value)"),
        "`goal` is the target, and still has the graph of the next state's value",
        "`goal.detach()`",
    ),
}
VALUES_RIGHT = {
    "values": VALUES,
    "the target first": VALUES.replace("(value, goal)", "(goal, value)"),
    "double": VALUES.replace(
        "best = target(after).max(1)[0]",
        "best = target(after).gather(1, q(after).argmax(1, keepdim=True)).squeeze(1)",
    ),
    "a flag of those that go on": VALUES.replace(
        "(1 - done)", "done"
    ).replace("(torch.rand(60) < 0.1).float()", "1 - (done := torch.zeros(60))"),
    "a detached value": VALUES.replace("with torch.no_grad()", "if True").replace(
        ".max(1)[0]", ".max(1)[0].detach()"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES_WRONG)
def test_a_target_that_is_none(name: str, tmp_path: Path) -> None:
    program, said, fix = VALUES_WRONG[name]
    (finding,) = rehearsed(tmp_path, program).findings
    assert said in finding.message
    assert [edit.message for edit in finding.fixes if edit.checked] == [fix]


@pytest.mark.parametrize("name", VALUES_RIGHT)
def test_value_learning_is_quiet(name: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, VALUES_RIGHT[name])
    assert [finding.message for finding in report.findings] == []
