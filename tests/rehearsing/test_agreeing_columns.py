"""Columns that meet rows with which the same program pairs them one to one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.rehearsing.rehearsed import rehearsed

TRAINING = """\
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
actor, critic = nn.Linear(8, 3), nn.Linear(8, 1)
weights = [*net.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(weights, lr=0.01)
x = torch.from_numpy(np.ones((16, 4), dtype=np.float32))
actions = torch.arange(16) % 3
rewards = np.linspace(0, 1, 16).astype(np.float32)
returns = torch.from_numpy(rewards)
hidden = net(x)
value, scores = critic(hidden), actor(hidden)
chosen = F.log_softmax(scores, dim=1)[range(16), actions]
BODY
optimizer.zero_grad()
(loss - chosen.mean() + value.mean()).backward()
optimizer.step()
"""

WRONG = {
    "a baseline beside the loss of the values": (
        """
        advantage = returns - value.detach()  # here
        loss = F.mse_loss(value.squeeze(-1), returns) - (advantage * chosen).mean()
        """,
        "`value.detach().squeeze(-1)`",
    ),
    "an error that is weighted": (
        """
        plain = (value.view(-1) - returns).abs()
        loss = ((value - returns) ** 2).mean() + plain.mean()  # here
        """,
        "`value.squeeze(-1)`",
    ),
    "a column of an index": (
        """
        picked = scores.gather(1, actions.unsqueeze(1))
        loss = F.smooth_l1_loss(picked[:, 0], returns)
        loss = loss + ((returns - picked.detach()) * chosen).mean()  # here
        """,
        "`picked.detach().squeeze(-1)`",
    ),
}


def told(folder: Path, body: str) -> list[tuple[str, str, list[str]]]:
    """Codes, the lines at which something is found, and the edits for it."""
    text = TRAINING.replace("BODY", dedent(body).strip())
    report = rehearsed(folder, text)
    assert report.complete
    lines = text.splitlines()
    return [
        (
            found.code,
            lines[found.span.line - 1] if found.span else "",
            [fix.message for fix in found.fixes],
        )
        for found in report.findings
    ]


@pytest.mark.parametrize(("body", "edit"), WRONG.values(), ids=WRONG)
def test_what_is_paired_elsewhere_is_found(
    tmp_path: Path, body: str, edit: str
) -> None:
    ((code, line, edits),) = told(tmp_path, body)
    assert code == "outer-broadcast"
    assert line.endswith("# here")
    assert edits[0] == edit


RIGHT = {
    "rows on both sides": """
        advantage = returns - value.detach().squeeze(-1)
        loss = F.mse_loss(value.squeeze(-1), returns) - (advantage * chosen).mean()
    """,
    "all pairs of the values, as it is written": """
        flat = value.squeeze(-1)
        gaps = flat.unsqueeze(1) - flat
        wanted = returns[:, None] - returns
        loss = F.mse_loss(gaps, wanted) + F.mse_loss(flat, returns)
    """,
    "each prediction and each target, as it is written": """
        flat = value.squeeze(-1)
        loss = F.mse_loss(flat, returns) + (flat[:, None] - returns).abs().mean()
    """,
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_pairs_that_are_meant_are_left_alone(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []
