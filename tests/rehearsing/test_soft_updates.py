"""Target networks whose state is written item by item, and policies that are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

HEAD = """
    import torch
    from torch.distributions import Categorical

    net, target = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        probs = torch.softmax(net(torch.randn(4)), dim=-1)
        drawn = Categorical(probs)
        gain = target(torch.randn(4)).max().item()
        loss = -drawn.log_prob(drawn.sample()) * gain - 0.01 * drawn.entropy()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = target.state_dict()
"""
RIGHT = (
    "for key, value in net.state_dict().items():\n"
    "            state[key] = 0.01 * value + 0.99 * state[key]",
    "state.update({k: 0.01 * v + 0.99 * state[k] for k, v in"
    " net.state_dict().items()})",
)


@pytest.mark.parametrize("update", RIGHT)
def test_a_state_that_is_written_is_no_copy_of_itself(
    update: str, tmp_path: Path
) -> None:
    text = f"{HEAD}        {update}\n        target.load_state_dict(state)\n"
    assert rehearsed(tmp_path, text).findings == ()


def test_a_state_that_is_not_written_is_found(tmp_path: Path) -> None:
    findings = rehearsed(tmp_path, f"{HEAD}        target.load_state_dict(state)\n")
    assert [each.code for each in findings.findings] == ["model-not-copied"]
