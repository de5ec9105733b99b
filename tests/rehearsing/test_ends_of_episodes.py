"""Flags of ended episodes that a script makes and its targets leave out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

gamma = 0.9
net, target = nn.Linear(4, 2), nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
memory = [
    (torch.randn(8, 4), torch.rand(8), torch.randn(8, 4), (torch.rand(8) < 0.1).float())
    for _ in range(3)
]
for batch in memory:
    states, rewards, following, {ends} = batch
    {flags}
    with torch.no_grad():
        values = target(following).max(1).values
        wanted = {wanted}
    loss = (net(states).max(1).values - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(){printed})
"""
PLAIN = "rewards + gamma * values"
WRONG = {
    "unpacked": ("dones", "pass", PLAIN, "", "(1 - dones)"),
    "printed": ("dones", "pass", PLAIN, ", dones.mean()", "(1 - dones)"),
    "cast": ("dones", "dones = dones.float()", PLAIN, "", "(1 - dones)"),
    "cast with others": (
        "dones",
        "rewards, dones = rewards.float(), torch.as_tensor(dones)",
        PLAIN,
        "",
        "(1 - dones)",
    ),
    "computed": (
        "_",
        "terminals = (following[:, 0].abs() > 1.5)",
        PLAIN,
        "",
        "(1 - terminals.float())",
    ),
    "a mask of the end": ("done_mask", "pass", PLAIN, "", "(1 - done_mask)"),
    "a mask before the end": (
        "done_mask",
        "dones = torch.zeros(8); kept = 1 - dones",
        PLAIN,
        "",
        "done_mask",
    ),
    "a factor": ("not_done", "pass", PLAIN, "", "not_done"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_end_that_a_script_leaves_out_is_told(name: str, tmp_path: Path) -> None:
    ends, flags, wanted, printed, fix = WRONG[name]
    text = SCRIPT.format(ends=ends, flags=flags, wanted=wanted, printed=printed)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "terminal-ignored"]
    fixes = [one.message for one in finding.fixes if one.checked]
    assert f"`gamma * values * {fix}`" in fixes


RIGHT = {
    "read": ("dones", "pass", f"{PLAIN} * (1 - dones)"),
    "read before": ("dones", "following = following * (1 - dones)[:, None]", PLAIN),
    "cast and read": ("dones", "dones = dones.float()", f"{PLAIN} * (1 - dones)"),
    "used up": ("dones", "dones, values = 1 - dones, 0", f"{PLAIN} * dones"),
    "a factor that is read": ("not_done", "pass", f"{PLAIN} * not_done"),
    "a mask of something": ("mask", "pass", PLAIN),
    "another flag": ("weights", "pass", PLAIN),
    "no end": ("_", "pass", PLAIN),
    "an end of one": ("_", "done = len(memory) > 2", PLAIN),
}


@pytest.mark.parametrize("name", RIGHT)
def test_ends_that_are_read_are_not_told(name: str, tmp_path: Path) -> None:
    ends, flags, wanted = RIGHT[name]
    text = SCRIPT.format(ends=ends, flags=flags, wanted=wanted, printed="")
    findings = rehearsed(tmp_path, text).findings
    assert not [f for f in findings if f.code == "terminal-ignored"]


EPISODES = """\
import random
import torch
from torch import nn

gamma = 0.9
net, target = nn.Linear(4, 2), nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
memory = []
for episode in range(6):
    state, done, t = torch.randn(4), False, 0
    while not done and t < 20:
        t += 1
        following = torch.randn(4)
        done = t > 6
        reward = {reward}
        memory.append((state, reward, following, {stored}))
        state = following
        if len(memory) < 8:
            continue
        s, r, n, d = zip(*random.sample(memory, 8))
        rewards, dones = torch.tensor(r), torch.tensor(d, dtype=torch.float32)
        with torch.no_grad():
            values = target(torch.stack(n)).max(1).values
            wanted = {wanted}
        loss = (net(torch.stack(s)).max(1).values - wanted).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
REWARD = "1.0 if done else -0.1"
KEPT = {
    "the flag first": (REWARD, "done", "rewards + dones * (gamma * values)"),
    "the flag last": (REWARD, "done", "rewards + gamma * values * dones"),
    "a number": ("0.5", "float(done)", "rewards + 0.9 * dones * values"),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_flag_that_keeps_the_end_alone_is_told(name: str, tmp_path: Path) -> None:
    reward, stored, wanted = KEPT[name]
    text = EPISODES.format(reward=reward, stored=stored, wanted=wanted)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "terminal-ignored"]
    assert [fix.message for fix in finding.fixes if fix.checked] == ["`(1 - dones)`"]


TURNED = {
    "in the target": (REWARD, "done", "rewards + (1 - dones) * (gamma * values)"),
    "where it is stored": (REWARD, "not done", "rewards + dones * (gamma * values)"),
    "by a choice": (REWARD, "0.0 if done else 1.0", "rewards + gamma * values * dones"),
    "as a number": (REWARD, "1 - done", "rewards + gamma * values * dones"),
}


@pytest.mark.parametrize("name", TURNED)
def test_flags_that_are_turned_are_not_told(name: str, tmp_path: Path) -> None:
    reward, stored, wanted = TURNED[name]
    text = EPISODES.format(reward=reward, stored=stored, wanted=wanted)
    findings = rehearsed(tmp_path, text).findings
    assert not [f for f in findings if f.code == "terminal-ignored"]
