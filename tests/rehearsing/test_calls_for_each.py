"""Models of one input that are called with all pictures of a triplet at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(20, 8)

    def forward(self, x):
        return self.body(x)


net, criterion = Net(), nn.TripletMarginLoss()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(2):
    a, p, n = torch.randn(3, 16, 20)
    CALL
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "a triplet": (
        "u, v, w = net(a, p, n)\n    loss = criterion(u, v, w)",
        "`net(a), net(p), net(n)`",
    ),
    "a pair": (
        "u, v = net(a, p * 2)\n    loss = (u - v).pow(2).mean()",
        "`net(a), net(p * 2)`",
    ),
    "one result": ("u = net(a, p)\n    loss = u.mean()", "`net(a)`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_model_is_called_for_each(name: str, tmp_path: Path) -> None:
    call, fix = WRONG[name]
    findings = rehearsed(tmp_path, SCRIPT.replace("CALL", call)).findings
    (error,) = [finding for finding in findings if finding.severity == "error"]
    assert "`net` takes one value" in error.message
    assert error.fixes[0].message == fix
    assert error.fixes[0].checked
