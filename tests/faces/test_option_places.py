"""Options before and behind a target, and what stands after `--`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapewright.cli.main import main

PROGRAM = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--width", type=int, default=4)
width = parser.parse_args().width


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, width)

    def forward(self, x):
        return self.fc(x)


if __name__ == "__main__":
    Net()(torch.zeros(2, 8))
"""

LINE = PROGRAM.splitlines().index("        return self.fc(x)") + 1

Printed = pytest.CaptureFixture[str]

SPEC = "f32[2, 8]"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (["trace", "-i", SPEC, "--by", "op", "net.py:Net"],
         ["trace", "net.py:Net", "--input", SPEC, "--by", "op"]),
        (["trace", "--format", "json", "net.py"], ["trace", "net.py", "--format=json"]),
        (["check", f"--input={SPEC}", "--strict", "net.py:Net"],
         ["check", "net.py:Net", f"-i{SPEC}", "--strict"]),
        (["check", "--first", "--strict", "net.py:Net", "net.py", "net:Net"],
         ["check", "net.py:Net", "--first", "net.py", "--strict", "net:Net"]),
        (["solve", "-i", "f32[B, K]", "--format", "json", "net.py:Net"],
         ["solve", "net.py:Net", "--format", "json", "--input", "f32[B, K]"]),
        (["solve", "-i", "f32[B, 8]", "--prove", "60", "net.py:Net"],
         ["solve", "-i", "f32[B, 8]", "--prove", "net.py:Net"]),
        (["explain", "--ascii", "f32[3].t()"], ["explain", "f32[3].t()", "--ascii"]),
        (["explain", "--ascii", "-f32[3]"], ["explain", "-f32[3]", "--ascii"]),
        (["explain", "--", "-f32[3]"], ["explain", "-f32[3]"]),
        (["explain", "-i64[3]"], ["explain", "--", "-i64[3]"]),
        (["explain", "-i", SPEC, f"net.py:Net:{LINE}"],
         ["explain", f"net.py:Net:{LINE}", f"-i{SPEC}"]),
    ],
    ids=lambda each: " ".join(each),
)  # fmt: skip
def test_an_option_means_the_same_before_and_behind(
    before: list[str], behind: list[str], capsys: Printed
) -> None:
    code = main(before)
    first = without_times(capsys.readouterr().out)
    assert main(behind) == code == 0
    printed = capsys.readouterr()
    assert without_times(printed.out) == first != ""
    assert printed.err == ""


def without_times(text: str) -> str:
    """A result without the seconds that its run took."""
    return re.sub(r'[\d.]+ m?s\b|"seconds":[^,]+', "", text)


@pytest.mark.parametrize(
    "line",
    [
        ["trace", "net.py", "--", "--width", "5"],
        ["trace", "net.py:Net", "-i", SPEC, "--", "--width", "5"],
        ["trace", "-i", SPEC, "net:Net", "--", "--width=5"],
        ["explain", f"net.py:{LINE}", "--", "--width", "5"],
        ["solve", "net.py:Net", "-i", "f32[B, 8]", "--", "--width", "5"],
    ],
    ids=" ".join,
)
def test_the_script_gets_its_own_arguments(line: list[str], capsys: Printed) -> None:
    assert main(line) == 0
    printed = capsys.readouterr()
    assert "5)" in printed.out or "5]" in printed.out
    assert printed.err == ""


def test_a_rehearsed_script_gets_all_that_follows_it(capsys: Printed) -> None:
    line = ["rehearse", "net.py", "--width", "5", "--device", "cuda", "--", "--fast"]
    assert main(line) == 1
    assert "unrecognized arguments: --device cuda" in capsys.readouterr().out


def test_each_target_gets_the_arguments(capsys: Printed) -> None:
    assert main(["check", "net.py", "net:Net", "--", "--widht=5"]) == 1
    printed = capsys.readouterr().out
    assert "net.py:Net: 1 error" in printed
    assert "net:Net: 1 error" in printed


def test_a_script_without_arguments_gets_none_of_ours(capsys: Printed) -> None:
    assert main(["trace", "-i", SPEC, "net.py:Net"]) == 0
    assert "(2, 4)" in capsys.readouterr().out
