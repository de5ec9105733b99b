"""Losses of many terms, which a new tensor takes out of their graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn

policy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for _ in range(2):
    terms = []
    for _ in range(150):
        dist = torch.distributions.Categorical(logits=policy(torch.randn(2)))
        terms.append(-dist.log_prob(dist.sample()) * 0.5)
    loss = LOSS
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "a flag": "torch.tensor(terms, requires_grad=True).mean()",
    "a sum": "torch.tensor(terms, requires_grad=True).sum()",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_new_tensor_of_many_terms(name: str, tmp_path: Path) -> None:
    text = SCRIPT.replace("LOSS", WRONG[name])
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "no-gradient"
    assert finding.span is not None
    line = text.splitlines()[finding.span.line - 1]
    assert line.strip() == f"loss = {WRONG[name]}"
    assert finding.fixes[0].message == "`torch.stack(terms)`"


def test_a_stack_of_many_terms(tmp_path: Path) -> None:
    text = SCRIPT.replace("LOSS", "torch.stack(terms).mean()")
    assert not rehearsed(tmp_path, text).findings
