"""Inputs that nobody gave fit because they were chosen so: `check` says that."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor, nn

import shapewright as sw
from shapewright.api import check_target
from shapewright.cli.main import main
from shapewright.views.data_formats import build_report_data

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(8 * 30 * 30, 10)

    def forward(self, image):
        return self.fc(self.conv(image).flatten(1))


def pair(x: torch.Tensor, n: int = 2):
    return torch.cat([x] * n)


def nothing():
    return torch.ones(3) + 1
"""
DECLARED = MODEL + "\n\ndef example_inputs():\n    return (torch.ones(2, 3, 32, 32),)\n"
LINE = (
    "no findings at sizes that were chosen: image is f32[2, 3, 32, 32]; with your own:"
    ' shapewright check -i "f32[...]" model.py:Net'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "declared.py").write_text(DECLARED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = main(["check", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_last_line(folder: Path, capsys: Any) -> None:
    code, out, _ = said(capsys, "model.py:Net")
    assert code == 0
    assert out.splitlines()[-1] == f"model.py:Net: {LINE}"


def test_given_and_declared_inputs_are_plain(folder: Path, capsys: Any) -> None:
    _, out, _ = said(capsys, "-i", "f32[2, 3, 32, 32]", "model.py:Net")
    assert out == "model.py:Net: no findings\n"
    _, out, _ = said(capsys, "declared.py:Net")
    assert out.endswith("declared.py:Net: no findings\n")


def test_no_inputs_are_needed(folder: Path, capsys: Any) -> None:
    _, out, _ = said(capsys, "model.py:nothing")
    assert out == "model.py:nothing: no findings\n"


def test_other_formats(folder: Path, capsys: Any) -> None:
    _, out, err = said(capsys, "--format", "concise", "model.py:Net")
    assert (out, err) == ("", f"model.py:Net: {LINE}\n")
    _, out, _ = said(capsys, "--format", "github", "model.py:Net")
    assert out.startswith(
        "::notice title=shapewright inputs::model.py:Net: no findings"
    )
    _, out, _ = said(capsys, "--format", "sarif", "model.py:Net")
    invocation = json.loads(out)["runs"][0]["invocations"][0]
    message = invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert "sizes that were chosen: image is f32[2, 3, 32, 32]" in message
    _, out, _ = said(capsys, "--format", "json", "model.py:Net")
    assert json.loads(out)["chosen"] == {
        "inputs": "image is f32[2, 3, 32, 32]",
        "again": 'shapewright check -i "f32[...]" model.py:Net',
    }


def test_given_inputs_in_data(folder: Path) -> None:
    report = check_target("model.py:Net", "f32[2, 3, 32, 32]")
    assert report.chosen is None
    assert build_report_data(report)["chosen"] is None


def test_every_input_has_its_name(folder: Path) -> None:
    report = check_target("model.py:pair")
    assert report.chosen is not None
    assert report.chosen.inputs.startswith("x is f32[")


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 8)

    def forward(self, x: Tensor, *, shift: Tensor) -> Tensor:
        out: Tensor = self.fc(x) + self.fc(shift)
        return out


def test_live_model() -> None:
    text = str(sw.check(Two())).splitlines()[-1]
    assert text == (
        "Two: no findings at sizes that were chosen: x is f32[2, 4], shift is"
        ' f32[2, 4]; with your own: sw.check(model, "f32[...], shift=f32[...]")'
    )
    assert str(sw.check(Two(), "f32[2, 4]", shift="f32[2, 4]")) == "Two: no findings\n"


TUPLE = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        out = self.lstm(x)
        return self.fc(out)
"""


def test_inputs_are_looked_for_once_and_not_for_each_fix(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shapewright.inputs import search as searching

    reading, writing = os.pipe()  # children write to it too
    search_inputs = searching.search_inputs

    def counted(loaded: Any) -> Any:
        os.write(writing, b"x")
        return search_inputs(loaded)

    monkeypatch.setattr(searching, "search_inputs", counted)
    (folder / "tuple.py").write_text(TUPLE)
    report = check_target("tuple.py:Net")
    os.close(writing)
    assert len(os.read(reading, 100)) == 1
    os.close(reading)
    (finding,) = report.findings
    assert finding.span is not None
    assert finding.span.line == 12
