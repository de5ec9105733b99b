"""Calls on one line: each that fails by itself is told, and mended by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import shapewright as sw
from shapewright import api
from shapewright.program.spans import apply_edits
from shapewright.record.report import Report

NET = """\
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
{layers}

    def forward(self, x):
        {body}


def example_inputs():
    return (torch.randn(8, 5),)
"""


def program(layers: str, body: str) -> str:
    lines = "\n".join(f"        {each}" for each in layers.split("; "))
    return NET.format(layers=lines, body=body)


def checked(folder: Path, text: str) -> Report:
    file = folder / "net.py"
    file.write_text(text)
    return api.check_target(f"{file}:Net")


TWO = program(
    "self.fc1 = nn.Linear(4, 8); self.fc2 = nn.Linear(9, 3)",
    "return self.fc2(F.relu(self.fc1(x)))",
)


def test_two_layers_of_a_line_are_two_findings(tmp_path: Path) -> None:
    report = checked(tmp_path, TWO)
    told = [(each.module, each.count) for each in report.findings]
    assert told == [("fc1", 1), ("fc2", 1)]
    columns = [each.span.column for each in report.findings if each.span]
    assert columns == [32, 16]


def test_each_of_a_line_is_mended_and_together_they_run(tmp_path: Path) -> None:
    report = checked(tmp_path, TWO)
    text = TWO
    for finding in report.findings:
        assert finding.fixes
        edits = finding.fixes[0].edits
        text = apply_edits(text, [(edit.span, edit.text) for edit in edits])
    assert checked(tmp_path, text).findings == ()


SEVERAL = {
    "products of two pairs": (
        "self.w = nn.Parameter(torch.zeros(4, 3)); self.v = nn.Parameter(x())".replace(
            "x()", "torch.zeros(6, 3)"
        ),
        "return x @ self.w + x @ self.v",
        2,
    ),
    "layers of a pair": (
        "self.a = nn.Linear(4, 2); self.b = nn.Linear(6, 2)",
        "return sum(layer(x) for layer in (self.a, self.b))",
        2,
    ),
    "one layer, called twice": (
        "self.a = nn.Linear(4, 2)",
        "return self.a(x) + self.a(x.relu())",
        1,
    ),
    "layers that one line builds": (
        "self.all = nn.ModuleList(nn.Linear(4, 5) for _ in range(3))",
        "return [x := layer(x) for layer in self.all][-1]",
        1,
    ),
    "a call in a loop": (
        "self.w = nn.Parameter(torch.zeros(4, 3))",
        "return [x @ self.w for _ in range(3)]",
        1,
    ),
    "sums of two pairs, that torch refuses": (
        "self.a = nn.Linear(5, 2)",
        "return (x + x[:, :3]) * (x[:, :3] + x)",
        2,
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_calls_are_told_apart_by_what_they_are(name: str, tmp_path: Path) -> None:
    layers, body, count = SEVERAL[name]
    errors = checked(tmp_path, program(layers, body)).findings
    assert len([each for each in errors if each.severity == "error"]) == count


def test_layers_of_a_live_model_are_told_apart_too() -> None:
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 8), nn.Linear(9, 3)
            self.more = nn.ModuleList(nn.Linear(4, 3) for _ in range(3))

        def forward(self, x):  # type: ignore[no-untyped-def]
            y = self.two(self.one(x).relu())
            return [layer(y) for layer in self.more]

    report = sw.check(Net(), "f32[2, 5]")
    told = [(each.module, each.count) for each in report.findings]
    assert told == [("one", 1), ("two", 1), ("more.0", 3)]
