"""`shapewright trace`, as a person runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faces.processes import shared
from shapewright import Trace, api
from shapewright.cli.main import main

ROOT = Path(__file__).parents[2]
LENET = "examples/lenet.py:Net"
SPEC = "f32[B=8, 3, 32, 32]"

MODELS = """\
import os
import sys

import torch
from torch import nn


class Loud(nn.Module):
    def forward(self, x):
        print("loud on stdout")
        return x.relu()


class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 16)
        self.two = nn.Linear(32, 4)

    def forward(self, x):
        return self.two(self.one(x))


def wander(x):
    os.chdir("/")
    return x + 1


def endless(x):
    x = x + 1
    print("started", file=sys.stderr, flush=True)
    while True:
        pass


def add(x, y, scale):
    return x + y * scale
"""

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `models.py` and the examples, where commands run."""
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def start(*arguments: str, **more: object) -> subprocess.Popen[bytes]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "shapewright", *arguments]
    return subprocess.Popen(command, **more)  # type: ignore[call-overload, no-any-return]


def output(*arguments: str, **environment: str) -> bytes:
    """What a process of its own writes to stdout."""
    process = start(
        *arguments, stdout=subprocess.PIPE, env={**os.environ, **environment}
    )
    return process.communicate()[0]


@pytest.mark.usefixtures("desk")
def test_the_table_goes_to_stdout_and_nothing_to_stderr(capsys: Printed) -> None:
    assert main(["trace", "-i", SPEC, LENET]) == 0
    printed = capsys.readouterr()
    assert "(8, 6, 28, 28)" in printed.out
    assert "conv2" in printed.out
    assert printed.err == ""


@pytest.mark.usefixtures("desk")
def test_an_error_says_which_command_explains_it(capsys: Printed) -> None:
    given = ["-i", "f32[2, 8]", "models.py:Wrong"]
    assert main(["trace", *given]) == 1
    assert capsys.readouterr().err == (
        "`shapewright check -i 'f32[2, 8]' models.py:Wrong` explains the error and"
        " tries fixes\n"
    )
    assert main(["trace", "-q", *given]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("desk")
def test_the_record_has_the_totals_of_the_table(capsys: Printed) -> None:
    assert main(["trace", "--format", "json", "-i", SPEC, LENET]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals["parameters"] == totals["trainable"] == 62_006
    assert totals["multiply_adds"] * 2 == totals["flops"]
    assert totals["ops"] == 12
    assert all(type(value) is int for value in totals.values())


@pytest.mark.usefixtures("desk")
def test_each_view_shows_what_it_is_named_for(capsys: Printed) -> None:
    shown = {}
    for by in ("module", "op", "line"):
        assert main(["trace", "--by", by, "-i", SPEC, LENET]) == 0
        shown[by] = capsys.readouterr().out
    assert "MaxPool2d" in shown["module"]
    assert "F.relu" in shown["op"]
    assert "x = self.pool(F.relu(self.conv2(x)))" in shown["line"]
    assert all("(8, 16, 5, 5)" in text for text in shown.values())


@pytest.mark.usefixtures("desk")
def test_json_is_the_record_and_nothing_else(capsys: Printed) -> None:
    assert main(["trace", "--format", "json", "-i", SPEC, LENET]) == 0
    trace = Trace.from_json(capsys.readouterr().out)
    assert trace.target == LENET
    assert trace.module("conv1").output.shape == (8, 6, 28, 28)
    assert trace.letters == {"B": 8}


@pytest.mark.usefixtures("desk")
def test_inputs_may_be_given_one_by_one(capsys: Printed) -> None:
    code = main(
        ["trace", "--format", "json", "-i", "f32[N=3, 4]", "-i", "f32[N, 1], 2.5",
         "models.py:add"]
    )  # fmt: skip
    assert code == 0
    assert Trace.from_json(capsys.readouterr().out).output.shape == (3, 4)


def test_a_name_that_ends_in_json_gets_the_record(desk: Path, capsys: Printed) -> None:
    for _ in range(2):  # the second time it replaces its own file
        assert main(["trace", "-i", SPEC, "-o", "lenet.json", LENET]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "wrote lenet.json" in printed.err
    trace = Trace.from_json((desk / "lenet.json").read_text("utf-8"))
    assert trace.output.shape == (8, 10)


def test_another_name_gets_the_text(desk: Path, capsys: Printed) -> None:
    for by in ("module", "op"):
        assert main(["trace", "--by", by, "-i", SPEC, "-o", "lenet.txt", LENET]) == 0
    text = (desk / "lenet.txt").read_text("utf-8")
    assert "F.relu" in text
    assert "\x1b" not in text


def test_the_program_is_not_replaced_by_its_trace(desk: Path, capsys: Printed) -> None:
    assert main(["trace", "-i", "f32[2]", "-o", "models.py", "models.py:Loud"]) == 2
    assert (desk / "models.py").read_text() == MODELS
    printed = capsys.readouterr()
    assert "not written by shapewright" in printed.err
    assert "loud" not in printed.err, "it is refused before the program runs"


@pytest.mark.usefixtures("desk")
def test_what_the_program_prints_goes_to_stderr(capsys: Printed) -> None:
    assert main(["trace", "-i", "f32[2, 3]", "models.py:Loud"]) == 0
    printed = capsys.readouterr()
    assert "loud on stdout" not in printed.out
    assert "loud on stdout" in printed.err


def test_a_misfit_is_a_finding_with_its_place(desk: Path, capsys: Printed) -> None:
    assert main(["trace", "-i", "f32[2, 8]", "models.py:Wrong"]) == 1
    line = MODELS.splitlines().index("        return self.two(self.one(x))") + 1
    assert f"models.py:{line}:16" in capsys.readouterr().out

    assert main(["trace", "-i", "f32[2, 8]", "-o", "t.json", "models.py:Wrong"]) == 1
    assert f"models.py:{line}:16: error[" in capsys.readouterr().err
    partial = Trace.from_json((desk / "t.json").read_text("utf-8"))
    assert partial.module("one").output.shape == (2, 16)
    assert not partial.complete


def test_the_file_goes_where_the_command_was_given(desk: Path) -> None:
    assert main(["trace", "-i", "f32[2]", "-o", "t.json", "models.py:wander"]) == 0
    assert (desk / "t.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-i", SPEC, "examples/lenet.py:Nett"], "did you mean `Net`"),
        (["-i", SPEC, "examples/lennet.py:Net"], "no such file"),
        (["-i", "f33[2]", LENET], "unknown dtype `f33`"),
    ],
)
@pytest.mark.usefixtures("desk")
def test_what_cannot_start_gets_one_sentence(
    arguments: list[str], word: str, capsys: Printed
) -> None:
    assert main(["trace", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert word in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.usefixtures("desk")
def test_a_fault_of_ours_says_what_to_send(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("the recorder lost count")

    monkeypatch.setattr(api, "trace_target", broken)
    assert main(["trace", "-i", "f32[2, 3]", "models.py:Loud"]) == 101
    report = capsys.readouterr().err
    assert report.startswith("error: shapewright itself failed")
    assert "shapewright trace -i 'f32[2, 3]' models.py:Loud" in report
    assert "torch 2." in report
    assert "AssertionError: the recorder lost count" in report


@pytest.mark.usefixtures("desk")
def test_piped_output_does_not_depend_on_the_terminal() -> None:
    table = ("trace", "-i", SPEC, LENET)
    narrow = output(*table, COLUMNS="40", TERM="dumb").decode().splitlines()
    wide = output(*table, COLUMNS="200", TERM="xterm-256color").decode().splitlines()
    assert narrow[:-1] == wide[:-1]  # the last line says how long it took
    assert not any("\x1b" in line for line in narrow)
    assert "\x1b[" in output(*table, FORCE_COLOR="1").decode()


@pytest.mark.usefixtures("desk")
def test_a_reader_that_has_gone_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start("trace", "-i", SPEC, LENET, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.communicate()[1] == b""
    assert process.returncode == 0


@pytest.mark.usefixtures("desk")
def test_ctrl_c_ends_it_with_130() -> None:
    process = start(
        "trace", "-i", "f32[2]", "models.py:endless", stderr=subprocess.PIPE
    )
    assert process.stderr
    assert process.stderr.readline() == b"started\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == b"interrupted\n"
    assert process.returncode == 130


def test_a_program_that_does_not_end_is_stopped(desk: Path) -> None:
    arguments = ("--timeout", "3", "-o", "t.json", "models.py:endless")
    process = start("trace", "-i", "f32[2]", *arguments, stderr=subprocess.PIPE)
    assert b"--timeout" in process.communicate()[1]
    assert process.returncode == 1
    partial = Trace.from_json((desk / "t.json").read_text("utf-8"))
    assert [op.outputs[0].shape for op in partial.ops] == [(2,)]


INPUTS = """\
import torch
from torch import nn


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.head = nn.Embedding(10, 4), nn.Linear(4, 2)

    def forward(self, scale, tokens):
        return self.head(self.tok(tokens)) * scale


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(x)


class Rounded(Line):
    def forward(self, x):
        return self.fc(x.round().long())
"""


@pytest.mark.parametrize(
    ("target", "spec", "fitting"),
    [
        ("Text", "f32[1], f32[B=2, 16]", '-i "f32[1], i64[B=2, 16]"'),
        ("Text", "f32[1], tokens=[2, 16]", '-i "f32[1], tokens=i64[2, 16]"'),
        ("Line", "i64[2, 8]", '-i "f32[2, 8]"'),
        ("Line", "f32[2, 9]", ""),
        ("Rounded", "f32[2, 8]", ""),
    ],
)
def test_an_input_of_another_dtype_has_its_spec(
    target: str, spec: str, fitting: str, tmp_path: Path
) -> None:
    (tmp_path / "inputs.py").write_text(INPUTS)
    done = shared().run(tmp_path, "trace", "-i", spec, f"inputs.py:{target}")
    assert done.code == 1
    assert ("takes another dtype of an input" in done.err) == bool(fitting)
    assert fitting in done.err
    assert "explains the error" in done.err
