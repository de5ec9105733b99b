"""`check --diff`, `--fix`, `--unsafe-fixes`, and the forms that other programs read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shapewright.cli.main import main

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(12, 8)  # grüße
        self.two = nn.Linear(9, 3)

    def forward(self, x):
        x = x.transpose(1, 2).view(-1, 12)
        return self.two(self.one(x))


def example_inputs():
    return (torch.randn(2, 3, 4),)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "net.py"
    made.write_bytes(PROGRAM.replace("\n", "\r\n").encode())
    os.chmod(made, 0o640)
    return made


def test_a_diff_is_shown_and_nothing_written(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.read_bytes()
    assert main(["check", "--diff", "net.py:Net"]) == 1
    said = capsys.readouterr().out
    assert "-        self.two = nn.Linear(9, 3)" in said
    assert "+        self.two = nn.Linear(8, 3)" in said
    assert file.read_bytes() == before


def test_fix_writes_only_what_keeps_the_meaning(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--fix", "net.py:Net"]) == 1
    text = file.read_bytes().decode()
    assert ".reshape(-1, 12)" in text
    assert "nn.Linear(9, 3)" in text
    assert "fixed net.py: 1 change" in capsys.readouterr().err


def test_unsafe_fixes_make_it_run_and_touch_nothing_else(file: Path) -> None:
    before = file.read_bytes().decode()
    assert main(["check", "--unsafe-fixes", "net.py:Net"]) == 1
    wanted = before.replace("view", "reshape").replace("(9, 3)", "(8, 3)")
    assert file.read_bytes().decode() == wanted
    assert file.stat().st_mode & 0o777 == 0o640
    assert main(["check", "net.py:Net"]) == 0
    assert [each.name for each in file.parent.glob("*.py*")] == ["net.py"]


def test_github_and_sarif_name_the_place(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", "--format", "github", "net.py:Net"])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("::error file=net.py,line=12,")
    assert "line=13," in second
    assert "%0Ahelp: `nn.Linear(8, 3)` at net.py:9" in second
    main(["check", "--format", "sarif", "net.py:Net"])
    data = json.loads(capsys.readouterr().out)
    results = data["runs"][0]["results"]
    lines = [
        each["locations"][0]["physicalLocation"]["region"]["startLine"]
        for each in results
    ]
    assert lines == [12, 13]
    change = results[1]["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert change["insertedContent"]["text"] == "8"
    assert data["version"] == "2.1.0"


@pytest.mark.parametrize("also", [[], ["--fix"]])
def test_a_diff_of_nothing_says_that_no_fix_is_known(
    file: Path, capsys: pytest.CaptureFixture[str], also: list[str]
) -> None:
    file.write_text("import json.nothing_of_this_name\n")
    assert main(["check", *also, "--diff", "net.py"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("net.py: no fix is known")
