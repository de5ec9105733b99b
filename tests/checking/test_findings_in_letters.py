"""Findings where letters have no size: what the failing call got, as formulas."""

from __future__ import annotations

import json
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import shapewright as sw
from shapewright.cli.main import main


class Convolutions(nn.Module):
    """Two convolutions, and a layer that gets what they leave."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(7, 120)

    def flat(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.conv1(x), 2)
        return F.max_pool2d(self.conv2(x), 2).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        flat = self.flat(x)
        return self.fc1(flat)


class Attention(nn.Module):
    """Attention over tokens at places, with keys that are not transposed."""

    def __init__(self, places: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.place = nn.Parameter(torch.zeros(places, 32))
        self.qkv = nn.Linear(32, 96)
        self.head = nn.Linear(32, 100)

    def forward(self, tokens: Tensor) -> Tensor:
        B, T = tokens.shape
        x = self.embed(tokens) + self.place[:T]
        q, k, v = self.qkv(x).view(B, T, 3, 4, 8).permute(2, 0, 3, 1, 4)
        scores = q @ k
        return self.head((scores @ v).transpose(1, 2).flatten(2))


def in_letters(report: sw.Report) -> list[str]:
    """The lines in letters of the first finding."""
    return [each for each in report.findings[0].lines if "in letters" in each]


def test_what_a_layer_got_of_convolutions():
    (line,) = in_letters(sw.check(Convolutions(), "f32[B, 3, H, W]"))
    found = re.fullmatch(r"in letters: `flat` is \((.*)\)", line)
    assert found is not None, line
    for B, H, W in ((1, 16, 17), (2, 64, 64), (3, 47, 91)):
        shape = Convolutions().flat(torch.zeros(B, 3, H, W)).shape
        assert eval(f"({found[1]})", {}, {"B": B, "H": H, "W": W}) == tuple(shape)


def test_what_attention_got():
    (line,) = in_letters(sw.check(Attention(512), "i64[B, T]"))
    assert line == "in letters: `q` is (B, 4, T, 8), `k` is (B, 4, T, 8)"


def test_sizes_at_which_an_earlier_call_fails_say_nothing_of_the_later_one():
    # more tokens than places are refused before, and that run goes on with a guess
    (line,) = in_letters(sw.check(Attention(), "i64[B, T]"))
    assert line == "in letters: `q` is (B, 4, T, 8), `k` is (B, 4, T, 8)"


class Several(nn.Module):
    """Three layers that do not fit; small images do not fit the kernels either."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(8, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2).flatten(1)
        x = self.fc1(x)
        return self.fc2(x)


def test_errors_behind_an_error_have_their_formulas():
    report = sw.check(Several(), "f32[B, 1, H, W]")
    assert [each.lines for each in report.findings] == [
        ("in letters: `x` is (B, 6, (H - 4)//2, (W - 4)//2)",),
        ("in letters: `x` is (B, 16*((H - 12)//4)*((W - 12)//4))",),
        ("in letters: `x` is (B, 120)",),
    ]


def test_letters_with_sizes_and_numbers_leave_a_finding_as_it_was():
    free = sw.check(Convolutions(), "f32[B, 3, H, W]").findings[0]
    stated = sw.check(Convolutions(), "f32[B=2, 3, H=64, W=64]").findings[0]
    plain = sw.check(Convolutions(), "f32[2, 3, 64, 64]").findings[0]
    assert stated.lines == plain.lines == ()
    assert free.message == stated.message == plain.message


def test_a_size_without_a_formula_is_not_told():
    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(7, 3)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(x[:, : (x.shape[1] * 2654435761 >> 7) % x.shape[1] + 8])

    assert in_letters(sw.check(Chosen(), "f32[B, T]")) == []


PROGRAM = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.head = nn.Linear(33, 100)

    def forward(self, tokens):
        x = self.embed(tokens).flatten(1)
        return self.head(x)
"""


@pytest.mark.parametrize("form", ["full", "json"])
def test_the_command_shows_it(form, tmp_path, capsys, monkeypatch):
    (tmp_path / "net.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--format", form, "-i", "i64[B, T]", "net.py:Net"]) == 1
    out = capsys.readouterr().out
    line = "in letters: `x` is (B, 32*T)"
    if form == "json":
        (finding,) = json.loads(out)["findings"]
        assert finding["lines"] == [line]
    else:
        assert line in out
