"""Values of actions: of each sample, of the chosen action, without a last softmax."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import copy
import torch
import torch.nn.functional as F

net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
target_net = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(4):
    state, later = torch.randn(16, 4), torch.randn(16, 4)
    action, reward = torch.randint(3, (16,)), torch.randn(16)
    done = (torch.rand(16) < 0.1).float()
    with torch.no_grad():
        value = {value}
        target = reward + 0.99 * {factors}
    q = {q}
    loss = F.mse_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2:
        target_net.load_state_dict(net.state_dict())
"""
VALUE = "target_net(later).max(1).values"
FACTORS = "value * (1 - done)"
Q = "net(state).gather(1, action[:, None]).squeeze(1)"
WRONG = {
    "the largest of all": (
        "target_net(later).max()", FACTORS, Q,
        "batch-axis", "`target_net(later).max(dim=1).values`",
    ),
    "the largest of all, by torch": (
        "torch.max(target_net(later))", "value", Q,
        "batch-axis", "`target_net(later).max(dim=1).values`",
    ),
    "along the batch": (
        VALUE, FACTORS, Q.replace("(1, action", "(0, action"),
        "wrong-axis", "`net(state).gather(-1, action[:, None])`",
    ),
    "probabilities": (
        VALUE, FACTORS, Q.replace("net(state)", "net(state).softmax(1)"),
        "unreachable-targets", "`net(state)`",
    ),
}  # fmt: skip
RIGHT = {
    "values": (VALUE, FACTORS, Q),
    "the best of both": (
        "torch.max(target_net(later), net(later)).amax(1)", FACTORS, Q,
    ),
    "a scale": ("target_net(later).amax(1) / target_net(later).max()", FACTORS, Q),
    "rows by number": (
        VALUE, FACTORS,
        "net(state).gather(0, action[:, None].expand(16, 3)).mean(1)",
    ),
    "probabilities of actions": (
        "target_net(later).softmax(1).gather(1, action[:, None]).squeeze(1)",
        FACTORS, Q,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_values_of_other_samples_are_found(name: str, tmp_path: Path) -> None:
    value, factors, q, code, edit = WRONG[name]
    text = SCRIPT.format(value=value, factors=factors, q=q)
    findings = [
        finding
        for finding in rehearsed(tmp_path, text).findings
        if finding.code != "terminal-ignored"
    ]
    assert [finding.code for finding in findings] == [code]
    assert findings[0].fixes[0].message == edit
    assert findings[0].fixes[0].checked


@pytest.mark.parametrize("name", RIGHT)
def test_values_of_each_sample_are_quiet(name: str, tmp_path: Path) -> None:
    value, factors, q = RIGHT[name]
    text = SCRIPT.format(value=value, factors=factors, q=q)
    assert rehearsed(tmp_path, text).findings == ()
