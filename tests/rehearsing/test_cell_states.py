"""Cell states of an LSTM that a program reads for its hidden states."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.{kind}(5, 8, {layers}, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        {call}
        return {result}


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(6, 9, 5)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WRONG = {
    "squeezed": (
        1,
        "_, hidden = self.rnn(x)",
        "self.head(hidden[-1].squeeze(0))",
        "`_, (hidden, _) = self.rnn(x)`",
    ),
    "with an output": (
        1,
        "out, state = self.rnn(x)",
        "self.head(state[-1])",
        "`out, (state, _) = self.rnn(x)`",
    ),
    "two layers": (
        2,
        "_, state = self.rnn(x)",
        "self.head(state[-1][-1])",
        "`state[0]`",
    ),
    "turned": (
        2,
        "_, state = self.rnn(x)",
        "self.head(state[-1].transpose(0, 1)[:, -1])",
        "`state[0]`",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_pair_of_states_is_unpacked(case: str, tmp_path: Path) -> None:
    layers, call, result, fix = WRONG[case]
    text = SCRIPT.format(kind="LSTM", layers=layers, call=call, result=result)
    findings = rehearsed(tmp_path, text).findings
    (finding,) = [f for f in findings if f.code == "last-step"]
    assert [one.message for one in finding.fixes if one.checked] == [fix]


RIGHT = {
    "a GRU": ("GRU", "_, hidden = self.rnn(x)", "self.head(hidden[-1])"),
    "unpacked": ("LSTM", "_, (hidden, _) = self.rnn(x)", "self.head(hidden[-1])"),
    "the cell by name": ("LSTM", "_, (_, cell) = self.rnn(x)", "self.head(cell[-1])"),
    "the cell by its place": ("LSTM", "_, s = self.rnn(x)", "self.head(s[1][-1])"),
    "both": ("LSTM", "_, s = self.rnn(x)", "self.head(s[0][-1] + s[-1][-1])"),
    "the output": ("LSTM", "out, s = self.rnn(x)", "self.head(out[:, -1] + s[-1][-1])"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_states_that_are_meant_are_not_told(case: str, tmp_path: Path) -> None:
    kind, call, result = RIGHT[case]
    text = SCRIPT.format(kind=kind, layers=1, call=call, result=result)
    findings = rehearsed(tmp_path, text).findings
    assert not [finding for finding in findings if finding.code == "last-step"]
