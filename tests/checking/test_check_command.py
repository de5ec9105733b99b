"""`check`: all independent errors in one run, their causes, and fixes that work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapewright import api
from shapewright.cli.main import main
from shapewright.findings.finding import Finding
from shapewright.program.spans import apply_edits
from shapewright.record.report import Report

THREE = """\
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(8, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(100, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def example_inputs():
    return (torch.randn(8, 1, 28, 28),)
"""


def checked(folder: Path, text: str, name: str = "Net") -> Report:
    """The report of a program that stands in a file."""
    file = folder / "net.py"
    file.write_text(text)
    return api.check_target(f"{file}:{name}")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of the program with three errors."""
    return checked(tmp_path_factory.mktemp("three"), THREE)


def fixed(text: str, finding: Finding, nth: int = 0) -> str:
    """The program with one of the finding's fixes."""
    edits = finding.fixes[nth].edits
    return apply_edits(text, [(edit.span, edit.text) for edit in edits])


def test_independent_errors_are_all_found_in_one_run(three: Report) -> None:
    assert [each.span.line for each in three.findings if each.span] == [16, 18, 19]
    assert [each.module for each in three.findings] == ["conv2", "fc1", "fc2"]
    assert three.complete
    assert three.exit_code == 1


def test_both_sides_are_followed_to_where_they_were_decided(three: Report) -> None:
    second = three.findings[1]
    said = [(each.span.line, each.message) for each in second.related]
    assert (11, "expected: 400 is `in_features` of `fc1`") in said
    lines = " ".join(text for _, text in said)
    assert "256 = 16·4·4, flattened from (8, 16, 4, 4)" in lines
    assert "28 -> 24 -> 12 -> 8 -> 4" in lines


def test_first_fixes_together_make_the_program_run(tmp_path: Path) -> None:
    text = THREE
    for _ in range(3):
        finding = checked(tmp_path, text).findings[0]
        assert finding.fixes[0].checked
        text = fixed(text, finding)
    assert "nn.Linear(16 * 4 * 4, 120)" in text
    report = checked(tmp_path, text)
    assert report.findings == ()
    assert report.exit_code == 0
    names: dict[str, object] = {}
    exec(compile(text, "net.py", "exec"), names)
    model, inputs = names["Net"], names["example_inputs"]
    assert model()(*inputs()).shape == (8, 10)  # type: ignore[operator]


def test_an_error_in_equal_blocks_is_one_finding(tmp_path: Path) -> None:
    text = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(self.up(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(16) for _ in range(12))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def example_inputs():
    return (torch.randn(2, 5, 16),)
"""
    report = checked(tmp_path, text)
    assert [(each.span.line, each.count) for each in report.findings if each.span] == [
        (12, 12)
    ]


def test_what_the_program_catches_itself_is_no_finding(tmp_path: Path) -> None:
    text = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        x = x.transpose(0, 1)
        try:
            return x.view(-1)
        except RuntimeError:
            return x.reshape(-1)


def example_inputs():
    return (torch.randn(3, 4),)
"""
    assert checked(tmp_path, text).findings == ()


def test_what_only_follows_from_a_guess_is_not_told(tmp_path: Path) -> None:
    text = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        z = x + torch.arange(5)
        return z @ torch.ones(5, 2)


def example_inputs():
    return (torch.randn(3, 4),)
"""
    assert [each.span.line for each in checked(tmp_path, text).findings] == [7]
    wrong_anyway = text.replace("ones(5, 2)", "ones(7, 2)")
    found = checked(tmp_path, wrong_anyway).findings
    assert [each.span.line for each in found] == [7, 8]


def test_an_error_on_import_names_what_explains_it(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    text = "import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n\n\n"
    file.write_text(text + "torch.ones(2, 3) @ torch.ones(4, 5)\n")
    (found,) = api.check_target(f"{file}:Net").findings
    assert found.lines == (
        f"`shapewright check {file}` runs the file as a script and explains it",
    )
    (explained,) = api.check_target(str(file)).findings
    assert explained.code == "inner-dim-mismatch"


def test_json_has_the_fixed_fields(three: Report) -> None:
    from shapewright.views.data_formats import format_report_json

    data = json.loads(format_report_json(three))
    assert data["version"] == 1
    assert data["complete"] is True
    first = data["findings"][0]
    assert first["severity"] == "error"
    assert first["span"]["line"] == 16
    assert first["fixes"][0]["edits"][0]["text"] == "6"
    assert first["fixes"][0]["edits"][0]["start"] == [10, 32]


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_the_command_prints_and_exits_with_1(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from shapewright.cli.main import main

    file = tmp_path / "net.py"
    file.write_text(THREE)
    assert main(["check", "--format", form, f"{file}:Net"]) == 1
    said = capsys.readouterr().out
    assert "channel-mismatch" in said
    assert "fc1" in said


def test_a_file_that_the_program_writes_is_not_written(tmp_path: Path) -> None:
    seen = tmp_path / "seen.txt"
    text = THREE.replace(
        "        x = torch.flatten(x, 1)",
        f"        open({str(seen)!r}, 'a').write('x'); x = torch.flatten(x, 1)",
    )
    assert checked(tmp_path, text).findings[0].fixes
    assert not seen.exists()


@pytest.mark.long
def test_three_notes_are_shown_and_all_of_them_with_verbose(
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = str(Path(__file__).parents[2] / "examples" / "mismatch.py") + ":Net"
    assert main(["check", target]) == 1
    few = capsys.readouterr().out
    assert main(["check", "--verbose", target]) == 1
    every = capsys.readouterr().out
    assert "= 2 more notes with --verbose" in few
    assert "28 -> 24 -> 12 -> 8 -> 4 through" in few
    assert "torch says" in every
    assert "more notes" not in every
    assert few.count(" = ") < every.count(" = ")
    for block in few.split("error["):
        assert block.count("\n   = ") <= 4
