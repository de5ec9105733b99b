"""States of recurrent layers that go from batch to batch of a shuffled loader."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6, 2), torch.rand(64, 3))
lstm, cell = nn.LSTM(2, 4, batch_first=True), nn.GRUCell(2, 4)
gru, head = nn.GRU(2, 4, batch_first=True), nn.Linear(4, 3)
layers = nn.ModuleList([lstm, cell, gru, head])
optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=16, shuffle={shuffle})
for epoch in range(2):
    state, h = None, torch.zeros(16, 4)
    for x, y in loader:
{body}
        loss = (head(h) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
CARRIED = {
    "lstm": "out, state = lstm(x, state)\nh = out[:, -1]\n"
            "state = tuple(s.detach() for s in state)",
    "gru": "out, state = gru(x, state)\nstate, h = state.detach(), out[:, -1]",
    "a cell": "h = h.detach()\nfor step in range(6):\n    h = cell(x[:, step], h)",
    "parts": "for part in x.chunk(2, dim=1):\n    out, state = gru(part, state)\n"
             "h, state = out[:, -1], state.detach()",
}  # fmt: skip
OWN = {
    "zeros": "out, _ = lstm(x)\nh = out[:, -1]",
    "parts of one batch":
        "state = None\nfor part in x.chunk(2, dim=1):\n"
        "    out, state = gru(part, state)\nh = out[:, -1]",
    "two sequences": "_, state = gru(x[:, :3])\n"
                     "out, _ = gru(y[:, :2, None].expand(-1, -1, 2), state)\n"
                     "h = out[:, -1]",
    "an encoder": "_, (s, c) = lstm(x)\nh = cell(y[:, :2], s[0])",
    "a cell": "h = torch.zeros(16, 4)\nfor step in range(6):\n"
              "    h = cell(x[:, step], h)",
    "two layers": "_, state = gru(x)\nout, _ = gru(x.flip(1), state)\nh = out[:, -1]",
}  # fmt: skip


def find_codes(folder: Path, body: str, shuffle: bool) -> list[str]:
    text = SCRIPT.format(body=indent(body, " " * 8), shuffle=shuffle)
    report = rehearsed(folder, text)
    assert report.complete, report
    return [f.code for f in report.findings if f.code == "state-of-other-samples"]


@pytest.mark.parametrize("name", CARRIED)
def test_a_state_of_another_batch_is_found(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, CARRIED[name], True) == ["state-of-other-samples"]


@pytest.mark.parametrize("name", CARRIED)
def test_batches_in_order_carry_their_states(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, CARRIED[name], False) == []


@pytest.mark.parametrize("name", OWN)
def test_states_of_the_same_batch_are_quiet(name: str, tmp_path: Path) -> None:
    assert find_codes(tmp_path, OWN[name], True) == []
