"""States of recurrent layers that a method makes once, for batches of one size."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, length, window):
        self.series, self.window = torch.randn(length, 3), window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        return self.series[i : i + self.window], self.series[i + self.window, :1]


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.hidden = hidden
        self.rnn = nn.{layer}(3, hidden{first})
        self.head = nn.Linear(hidden, 1)
        self.h = self.c = None

    def {method}:
        shape = (1, {batch}, self.hidden)
        {states}

    def forward(self, x):
        {call}
        return self.head(out[{last}])


net = Net(8)
net.{made}
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(Windows(43, window=24), batch_size=8):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
"""
BASE = {
    "layer": "GRU", "first": ", batch_first=True", "method": "reset(self, n)",
    "batch": "n", "states": "self.h = torch.zeros(shape)", "made": "reset(8)",
    "call": "out, _ = self.rnn(x, self.h)", "last": ":, -1",
}  # fmt: skip
LSTM = {
    "layer": "LSTM",
    "states": "self.h, self.c = torch.zeros(shape), torch.zeros(shape)",
    "call": "out, _ = self.rnn(x, (self.h, self.c))",
}
CASES: dict[str, tuple[dict[str, str], str]] = {
    "one state": ({}, "self.reset(x.size(0))"),
    "two states": (LSTM, "self.reset(x.size(0))"),
    "a pair": (
        {**LSTM, "states": "self.h = (torch.zeros(shape), torch.zeros(shape))",
         "call": "out, _ = self.rnn(x, self.h)"},
        "self.reset(x.size(0))",
    ),
    "steps first": (
        {"first": "", "last": "-1",
         "call": "x = x.transpose(0, 1); out, _ = self.rnn(x, self.h)"},
        "",
    ),
    "steps first on a line of its own": (
        {"first": "", "last": "-1",
         "call": "x = x.transpose(0, 1)\n        out, _ = self.rnn(x, self.h)"},
        "self.reset(x.size(1))",
    ),
    "a default beside it": (
        {"method": "reset(self, batch_size, device=None)", "batch": "batch_size"},
        "self.reset(x.size(0))",
    ),
    "a state that is carried on": (
        {"call": "out, h = self.rnn(x, self.h); self.h = h.detach()"},
        "",
    ),
}  # fmt: skip


def find_errors(folder: Path, settings: dict[str, str]) -> list[Finding]:
    """Return the errors of a training with these lines."""
    findings = rehearsed(folder, SCRIPT.format(**{**BASE, **settings})).findings
    return [finding for finding in findings if finding.severity == "error"]


@pytest.mark.parametrize("name", CASES)
def test_a_kept_state_is_made_for_the_samples_of_the_batch(
    name: str, tmp_path: Path
) -> None:
    settings, edit = CASES[name]
    (finding,) = find_errors(tmp_path, settings)
    assert finding.code == "hidden-state-shape"
    messages = [fix.message for fix in finding.fixes]
    edits = [edit.text for fix in finding.fixes for edit in fix.edits]
    assert not any(text.isdecimal() for text in edits)
    if edit:
        assert messages == [f"`{edit}`"]
        assert finding.fixes[0].checked


@pytest.mark.parametrize(
    "settings",
    [
        {"call": "self.reset(x.size(0)); out, _ = self.rnn(x, self.h)"},
        {"call": "out, _ = self.rnn(x)"},
    ],
)
def test_a_state_of_each_batch_is_quiet(
    settings: dict[str, str], tmp_path: Path
) -> None:
    assert find_errors(tmp_path, settings) == []
