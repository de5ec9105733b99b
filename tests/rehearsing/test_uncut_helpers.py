"""A function that should cut the graph of a state and returns it as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import torch
from torch import nn
from torch.autograd import Variable

{helper}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.{kind}(4, 8), nn.Linear(8, 1)

    def forward(self, x, state):
        out, state = self.rnn(x, state)
        return self.head(out), state

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
state = {start}
for step in range(3):
    state = keep(state)
    out, state = net(torch.randn(5, 2, 4), state)
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ONE, TWO = "torch.zeros(1, 2, 8)", "(torch.zeros(1, 2, 8), torch.zeros(1, 2, 8))"
RECURSIVE = """\
def keep(h):
    if isinstance(h, torch.Tensor):
        return {}
    return tuple(keep(v) for v in h)
"""


def rehearse_helper(folder: Path, helper: str, kind: str) -> tuple[Finding, ...]:
    """Rehearse a training that hands its state through a function."""
    start = TWO if kind == "LSTM" else ONE
    text = PROGRAM.format(helper=helper, kind=kind, start=start)
    return rehearsed(folder, text).findings


@pytest.mark.parametrize(
    ("helper", "kind", "fix"),
    [
        (RECURSIVE.format("h"), "LSTM", "`return h.detach()`"),
        ("def keep(h):\n    return h", "GRU", "`return h.detach()`"),
        ("def keep(h):\n    return h", "LSTM",
         "`return tuple(part.detach() for part in h)`"),
        ("def keep(h):\n    return tuple(v for v in h)", "LSTM", "`v.detach()`"),
    ],
)  # fmt: skip
def test_the_function_is_named_and_mended(
    tmp_path: Path, helper: str, kind: str, fix: str
) -> None:
    (error,) = rehearse_helper(tmp_path, helper, kind)
    assert error.message.endswith("`keep` returns it as it is")
    assert error.fixes[0].message == fix
    assert error.fixes[0].checked


@pytest.mark.parametrize("body", ["h.detach()", "Variable(h)", "h.clone()", "h * 1"])
def test_a_function_that_does_something_is_not_named(tmp_path: Path, body: str) -> None:
    findings = rehearse_helper(tmp_path, RECURSIVE.format(body), "LSTM")
    assert not any("returns it as it is" in finding.message for finding in findings)
    assert bool(findings) == (body in ("h.clone()", "h * 1"))
