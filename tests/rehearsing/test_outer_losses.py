"""Losses of steps that meet every other step: lengths of which no axis is known."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn.functional import smooth_l1_loss

torch.manual_seed(0)
policy = nn.Linear(3, 2)
value = nn.Linear(3, 1)
optimizer = torch.optim.SGD([*policy.parameters(), *value.parameters()], lr=0.1)
BEFORE

for episode in range(6):
    states, log_probs, rewards, actions = [], [], [], []
    for step in range(7):
        state = torch.from_numpy(np.ones(3, dtype=np.float32)).unsqueeze(0)
        of_actions = Categorical(logits=policy(state))
        action = of_actions.sample()
        states.append(state)
        actions.append(action.item())
        log_probs.append(of_actions.log_prob(action))
        rewards.append(1.0 + 0.1 * step)
    returns = torch.tensor(rewards)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    batch = torch.cat(states)
    values = value(batch)
    chosen = policy(batch).gather(1, torch.tensor(actions)[:, None])
    held = 0 * (values.sum() + sum(log_probs).sum())
BODY
    optimizer.zero_grad()
    (loss + held).backward()
    optimizer.step()
"""


def told(folder: Path, body: str, before: str = "") -> list[tuple[str, str]]:
    """Codes, and the text at which something is found, of a training with a loss."""
    text = TRAINING.replace("BODY", indent(dedent(body).strip(), "    "))
    text = text.replace("BEFORE", before)
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (found.code, lines[found.span.line - 1].strip() if found.span else "")
        for found in report.findings
    ]


WRONG = {
    "stacked log probabilities": """
        stacked = torch.stack(log_probs)
        loss = (-stacked * returns).sum()  # here
    """,
    "an advantage": """
        advantage = returns - values  # here
        loss = advantage.pow(2).mean()
    """,
    "a loss of torch": """
        loss = smooth_l1_loss(values, returns)  # here
    """,
    "a baseline without a graph": """
        advantage = returns - values.detach()  # here
        loss = -(torch.cat(log_probs) * advantage).mean()
    """,
    "values that were picked": """
        loss = 0.5 * torch.square(chosen - returns).mean()  # here
    """,
    "several losses in a list": """
        first = (torch.stack(log_probs) * returns.to("cpu")).mean()  # here
        loss = torch.stack([first, values.pow(2).mean()]).sum()
    """,
    "returns that are written backwards": """
        returns = torch.zeros(len(rewards))
        total = 0.0
        for step in reversed(range(len(rewards))):
            total = rewards[step] + 0.9 * total
            returns[step] = total
        loss = (returns - values).pow(2).mean()  # here
    """,
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_every_step_with_every_other_is_found(tmp_path: Path, body: str) -> None:
    ((code, line),) = told(tmp_path, body)
    assert code == "outer-broadcast"
    assert line.endswith("# here")


RIGHT = {
    "both in one dim": """
        loss = (-torch.cat(log_probs) * returns).sum()
        loss = loss + smooth_l1_loss(values.squeeze(1), returns)
        loss = loss + ((returns - values[:, 0].detach()) * torch.cat(log_probs)).mean()
    """,
    "both columns": """
        loss = (-torch.stack(log_probs) * returns.unsqueeze(1)).sum()
        loss = loss + (chosen - returns[:, None]).pow(2).mean()
    """,
    "all pairs, as it is written": """
        each = torch.cat(log_probs)
        loss = (each.unsqueeze(1) - returns).pow(2).mean()
        loss = loss + (each[:, None] - each).abs().mean()
    """,
    "another number at times": """
        few = torch.tensor([1.0 + episode for _ in range(5)])
        for row in (returns, few):
            loss = (values - row).pow(2).mean()
    """,
    "a baseline in one dim": """
        advantage = returns - values.detach().squeeze(-1)
        loss = -(torch.cat(log_probs) * advantage).mean()
    """,
    "a baseline and a column": """
        advantage = returns.unsqueeze(1) - values.detach()
        loss = -(torch.stack(log_probs) * advantage).mean()
    """,
    "differences that only choose": """
        far = (returns - values.detach()).abs().max().item()
        loss = torch.cat(log_probs).mean() * (1.0 if far > 1.0 else 0.5)
    """,
    "a number that is printed": """
        print((values - returns).abs().mean().item())
        loss = torch.cat(log_probs).mean()
    """,
    "a vector of one": """
        loss = sum((one * torch.tensor([2.0])).sum() for one in log_probs)
    """,
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_meant_is_left_alone(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []


FIXED = {
    "levels": (
        "levels = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])",
        """
        wrong = returns[:, None] - values
        loss = torch.maximum(levels * wrong, (levels - 1) * wrong).mean()
        """,
    ),
    "points": (
        "points = torch.linspace(0, 1, 7)",
        "loss = (values - points).exp().sum(1).mean()",
    ),
    "as many features as steps, for a layer": (
        "head = nn.Linear(7, 1).requires_grad_(False)",
        """
        wide = values * torch.tensor([1.0 + episode + at for at in range(7)])
        loss = head(wide.sin()).mean()
        """,
    ),
    "a weight that is learned": (
        "scale = nn.Parameter(torch.ones(7))",
        "loss = (values * scale).pow(2).mean()",
    ),
}


@pytest.mark.parametrize(("before", "body"), FIXED.values(), ids=FIXED)
def test_what_stays_the_same_is_as_long_by_chance(
    tmp_path: Path, before: str, body: str
) -> None:
    assert told(tmp_path, body, before) == []
