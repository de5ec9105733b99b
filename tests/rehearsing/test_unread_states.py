"""States of recurrent layers that a program detaches for the next call, and gives to
no layer.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

ATTRIBUTE = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.KIND(2, 4, batch_first=True), nn.Linear(4, 1)
        self.hidden = self.init_hidden()

    def init_hidden(self):
        return ZEROS

    def forward(self, x):
        CALL
        return self.head(out)


series = torch.randn(5, 24, 2)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.hidden = model.init_hidden()
    for x in series.split(6, dim=1):
        CUT
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
ZERO = "torch.zeros(1, 5, 4)"
PAIR = f"({ZERO}, {ZERO})"
TUPLE = "model.hidden = tuple(h.detach() for h in model.hidden)"
DETACH = "model.hidden = model.hidden.detach()"
WRONG = {
    "lstm": ("LSTM", PAIR, "out, self.hidden = self.rnn(x)", TUPLE),
    "gru": ("GRU", ZERO, "out, self.hidden = self.rnn(x)", DETACH),
    "by its data": (
        "GRU", ZERO, "out, self.hidden = self.rnn(x)",
        "model.hidden = model.hidden.data",
    ),
    "where there is one": (
        "GRU", ZERO, "out, self.hidden = self.rnn(x)",
        f"if model.hidden is not None:\n            {DETACH}",
    ),
    "pairs": (
        "LSTM", PAIR, "out, self.hidden = self.rnn(x)",
        "model.hidden = (model.hidden[0].detach(), model.hidden[1].detach())",
    ),
    "a state that is dropped": ("GRU", ZERO, "out, _ = self.rnn(x)", DETACH),
}  # fmt: skip
RIGHT = {
    "it is given": ("LSTM", PAIR, "out, self.hidden = self.rnn(x, self.hidden)", TUPLE),
    "it is given by name": (
        "GRU", ZERO, "out, self.hidden = self.rnn(x, hx=self.hidden)", DETACH
    ),
    "each sequence begins with zeros": (
        "LSTM", PAIR, "out, self.hidden = self.rnn(x)", "pass"
    ),
    "it is looked at": (
        "GRU", ZERO, "out, self.hidden = self.rnn(x)",
        f"{DETACH}\n        print(model.hidden.norm().item())",
    ),
    "it is one of the features": (
        "GRU", ZERO, "before = self.hidden; out, self.hidden = self.rnn(x);"
        " out = out + before.transpose(0, 1)", DETACH,
    ),
    "it is kept under another name": (
        "GRU", ZERO, "out, state = self.rnn(x); self.last = state.detach()", "pass"
    ),
}  # fmt: skip
PARAMETER = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(2, 4, batch_first=True), nn.Linear(4, 1)

    def forward(self, x, state):
        CALL
        return self.head(out), state


series = torch.randn(5, 24, 2)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    h = torch.zeros(1, 5, 4)
    for x in series.split(6, dim=1):
        CUT
        y, h = model(x, h)
        loss = y.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def find(folder: Path, text: str) -> list[str]:
    """Code and first checked edit of each finding."""
    return [
        f"{f.code}: {f.fixes[0].message if f.fixes else ''}"
        for f in rehearsed(folder, text).findings
        if f.severity != "note"
    ]


def fill(case: tuple[str, str, str, str]) -> str:
    text = ATTRIBUTE
    for word, new in zip(("KIND", "ZEROS", "CALL", "CUT"), case, strict=True):
        text = text.replace(word, new)
    return text


@pytest.mark.parametrize("name", WRONG)
def test_an_attribute_that_no_layer_reads(name: str, tmp_path: Path) -> None:
    assert find(tmp_path, fill(WRONG[name])) == [
        "state-dropped: `self.rnn(x, self.hidden)`"
    ]


@pytest.mark.parametrize("name", RIGHT)
def test_attributes_that_are_read_or_not_meant_for_a_layer(
    name: str, tmp_path: Path
) -> None:
    assert "state-dropped" not in "".join(find(tmp_path, fill(RIGHT[name])))


def test_a_parameter_that_no_layer_reads(tmp_path: Path) -> None:
    text = PARAMETER.replace("CALL", "out, state = self.rnn(x)")
    text = text.replace("CUT", "h = h.detach()")
    assert find(tmp_path, text) == ["state-dropped: `self.rnn(x, state)`"]


@pytest.mark.parametrize(
    ("call", "cut"),
    [
        ("out, state = self.rnn(x, state)", "h = h.detach()"),
        ("out, state = self.rnn(x)", "pass"),
        ("out, state = self.rnn(x + state.mean())", "h = h.detach()"),
    ],
)
def test_parameters_that_are_read_or_not_kept(
    call: str, cut: str, tmp_path: Path
) -> None:
    text = PARAMETER.replace("CALL", call).replace("CUT", cut)
    assert "state-dropped" not in "".join(find(tmp_path, text))
