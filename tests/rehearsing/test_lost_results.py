"""Two results of one call of which one takes the place of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader = nn.LSTM(5, 8, batch_first=True)
        self.writer = nn.LSTM(5, 8, batch_first=True)

    def read(self, x):
        order = torch.arange(len(x)).flip(0)
        out, (h, c) = self.reader(x)
        {states}

    def split(self, x):
        return x[..., :4], x[..., 4:]

    def forward(self, x):
        out, _ = self.writer(x, self.read(x))
        first, second = self.split(out)
        {parts}
        return first, second


model = Coder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    first, second = model(torch.randn(6, 9, 5))
    optimizer.zero_grad()
    (first * second).sum().backward()
    optimizer.step()
"""
STATES = "return h[:, order], c[:, order]"
WRONG = {
    "at once": (
        "h, c = h[:, order], h[:, order]\n        return h, c",
        "pass",
        "c[:, order]",
    ),
    "returned": ("return h[:, order], h[:, order]", "pass", "c[:, order]"),
    "one after the other": (
        "h = h[:, order]\n        c = h[:, order]\n        return h, c",
        "pass",
        "c[:, order]",
    ),
    "parts of a tensor": (
        STATES,
        "first, second = torch.tanh(first), torch.tanh(first)",
        "torch.tanh(second)",
    ),
}  # fmt: skip
QUIET = {
    "each its own": (STATES, "first, second = first.tanh(), second.tanh()"),
    "one state for both": ("return h, h", "pass"),
    "a name for nothing": (
        "out, (h, _) = self.reader(x)\n        return h[:, order], h[:, order]",
        "pass",
    ),
    "read before": (
        STATES, "both = second + 1\n        first, second = first * 2, first * 2 + both"
    ),
    "one behind the other": (STATES, "second = first.tanh() * second"),
    "both read, then twice": (
        "h = h + c\n        return h[:, order], h[:, order]", "pass"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_result_in_the_place_of_another(case: str, tmp_path: Path) -> None:
    states, parts, edit = WRONG[case]
    text = SCRIPT.format(states=states, parts=parts)
    findings = rehearsed(tmp_path, text).findings
    assert [finding.code for finding in findings] == ["result-dropped"]
    assert findings[0].fixes[0].message == f"`{edit}`"


@pytest.mark.parametrize("case", QUIET)
def test_results_that_are_both_used(case: str, tmp_path: Path) -> None:
    states, parts = QUIET[case]
    assert not rehearsed(tmp_path, SCRIPT.format(states=states, parts=parts)).findings
