"""Where a size is written that a factory or a layer reads by a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

STATES = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, hidden, {parameter}):
        super().__init__()
        self.rnn = nn.LSTM(5, hidden, batch_first=True)
        self.size = size
        self.hidden = hidden

    def forward(self, x):
        state = torch.zeros(1, {expression}, self.hidden)
        return self.rnn(x, (state, state))[0]

{constant}
net = Net({arguments})
for step in range(2):
    net(torch.randn(4, 7, 5)).sum().backward()
"""
LAYERS = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(inner, outer, 3), nn.ReLU())

    def forward(self, x):
        return self.layers(x)

class Net(nn.Module):
    def __init__(self, channels=3):
        super().__init__()
        self.first = Block({channels}, 8)
        self.second = Block(8, 16)

    def forward(self, x):
        return self.second(self.first(x))

{rest}
for step in range(2):
    net(torch.randn(2, 1, 9, 9)).sum().backward()
"""


def find_error(folder: Path, text: str) -> Finding:
    findings = rehearsed(folder, text).findings
    (error,) = [finding for finding in findings if finding.severity == "error"]
    return error


def find_settings(finding: Finding) -> list[tuple[str, int]]:
    return [
        (related.message, related.span.line)
        for related in finding.related
        if " is set by " in related.message
    ]


@pytest.mark.parametrize(
    ("parameter", "expression", "constant", "arguments", "setting", "line"),
    [
        ("size", "self.size", "size = 6", "8, size", "size = 6", 15),
        ("size", "self.size", "", "8, size=6", "Net(8, size=6)", 16),
        ("size", "self.size", "", "8, 6", "Net(8, 6)", 16),
        ("size=6", "self.size", "", "8", "size=6", 5),
        ("size=6", "SIZE", "SIZE = 6", "8", "SIZE = 6", 15),
    ],
)
def test_the_number_of_a_made_size_is_followed_to_its_text(
    parameter: str,
    expression: str,
    constant: str,
    arguments: str,
    setting: str,
    line: int,
    tmp_path: Path,
) -> None:
    text = STATES.format(
        parameter=parameter,
        expression=expression,
        constant=constant,
        arguments=arguments,
    )
    error = find_error(tmp_path, text)
    assert find_settings(error) == [(f"6 is set by `{setting}`", line)]
    got = [r.message for r in error.related if r.message.startswith("got: ")]
    assert got == [f"got: 6 is `{expression}` in `torch.zeros`, which gave (1, 6, 8)"]


@pytest.mark.parametrize(
    ("expression", "constant"),
    [("6", ""), ("len(range(6))", ""), ("SIZE", "SIZE = 5\nSIZE = 6")],
)
def test_a_number_without_one_place_has_none(
    expression: str, constant: str, tmp_path: Path
) -> None:
    text = STATES.format(
        parameter="size=1", expression=expression, constant=constant, arguments="8"
    )
    assert not find_settings(find_error(tmp_path, text))


@pytest.mark.parametrize(
    ("rest", "setting"),
    [
        ("net = Net(channels=3)", ("3 is set by `Net(channels=3)`", 21)),
        ("net = Net()", ("3 is set by `channels=3`", 13)),
        ("N = 3\nother = Net(4)\nnet = Net(N)", ("3 is set by `N = 3`", 21)),
    ],
)
def test_the_number_of_a_layer_is_followed_to_the_outermost_call(
    rest: str, setting: tuple[str, int], tmp_path: Path
) -> None:
    text = LAYERS.format(channels="channels", rest=rest)
    assert find_settings(find_error(tmp_path, text)) == [setting]


@pytest.mark.parametrize("channels", ["3", "len('abc')"])
def test_a_computed_number_of_a_layer_is_not_followed(
    channels: str, tmp_path: Path
) -> None:
    text = LAYERS.format(channels=channels, rest="net = Net()")
    settings = find_settings(find_error(tmp_path, text))
    assert settings == ([("3 is set by `Block(3, 8)`", 15)] if channels == "3" else [])
