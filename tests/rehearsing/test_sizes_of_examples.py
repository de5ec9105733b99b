"""Programs that were exported or traced for an example, called with other sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed

HEAD = """\
import io
import torch
from torch import nn
from torch.export import Dim, export


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 3)
        self.fc = nn.Linear(4, 2)

    def forward(self, beats):
        return self.fc(self.conv(beats).mean(-1))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 2)

    def forward(self, left, right):
        return self.fc(left * right)


def reload(program):
    buffer = io.BytesIO()
    torch.export.save(program, buffer, extra_files={"names.txt": "N,S"})
    buffer.seek(0)
    files = {"names.txt": ""}
    loaded = torch.export.load(buffer, extra_files=files)
    assert files["names.txt"] == "N,S"
    return loaded


net = Net().eval()
"""
WRONG = {
    "an example of one": (
        """\
def save(net, batch=1):
    example = (torch.randn(batch, 1, 180),)
    return reload(torch.export.export(net, example))
served = save(net).module()
served(torch.randn(1, 1, 180))
served(torch.randn(40, 1, 180))
""",
        "`beats` has 40 in dim 0, and the program was exported for 1 only",
        '`dynamic_shapes={"beats": {0: Dim.DYNAMIC}}` and an example with 2',
    ),
    "one of a batch": (
        """\
x = torch.zeros(16, 1, 64)
program = export(net, args=(x[:1],), strict=False)
program.module()(x)
""",
        "`beats` has 16 in dim 0, and the program was exported for 1 only",
        '`dynamic_shapes={"beats": {0: Dim.DYNAMIC}}` and an example with 2',
    ),
    "another length": (
        """\
example = torch.ones((3, 1, 64))
program = export(net, (example,))
program.module()(torch.ones(3, 1, 90))
""",
        "`beats` has 90 in dim 2, and the program was exported for 64 only",
        '`dynamic_shapes={"beats": {2: Dim.DYNAMIC}}`',
    ),
    "two inputs": (
        """\
program = export(Pair(), (torch.randn(1, 6), torch.randn(1, 6)))
program.module()(torch.randn(5, 6), torch.randn(5, 6))
""",
        "`left` has 5 in dim 0, and the program was exported for 1 only",
        '`dynamic_shapes={"left": {0: Dim.DYNAMIC}, "right": {0: Dim.DYNAMIC}}` and an'
        " example with 2",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_size_that_was_not_exported_is_told(name: str, tmp_path: Path) -> None:
    text, message, fix = WRONG[name]
    (finding,) = rehearsed(tmp_path, HEAD + text).findings
    assert finding.code == "size-of-example"
    assert message in finding.message
    lines = (HEAD + text).splitlines()
    assert finding.file.endswith("train.py")
    assert finding.line == len(lines)
    where = [r.span.line for r in finding.related if "exported here" in r.message]
    assert "export(" in lines[where[0] - 1]
    assert finding.fixes[0].message == fix
    assert finding.fixes[0].checked


RIGHT = {
    "a dim with a name": (
        '{"beats": {0: Dim("batch")}}',
        "served(torch.randn(1, 1, 180)), served(torch.randn(40, 1, 180))",
    ),
    "by place": (
        "({0: Dim.AUTO, 2: Dim.AUTO},)",
        "served(torch.randn(7, 1, 90)), served(torch.randn(40, 1, 180))",
    ),
    "the sizes of the example": ("None", "served(torch.randn(2, 1, 180))"),
}


def export_saved(folder: Path, name: str) -> Report:
    shapes, calls = RIGHT[name]
    text = f"""\
program = export(net, (torch.randn(2, 1, 180),), dynamic_shapes={shapes})
served = reload(program).module()
{calls}
"""
    return rehearsed(folder, HEAD + text)


@pytest.mark.parametrize("name", RIGHT)
def test_a_saved_program_keeps_its_open_dims(name: str, tmp_path: Path) -> None:
    report = export_saved(tmp_path, name)
    assert not report.findings
    assert report.complete


TRACED = """\
import io
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, 4)
        self.short, self.long = nn.Linear(48, 2), nn.Linear(96, 2)
        self.register_buffer("pe", torch.zeros(512, 4))

    def forward(self, x):
        h = self.inp(x)
{body}


def reload(module):
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    buffer.seek(0)
    return torch.jit.load(buffer)


net = Net().eval()
traced = torch.jit.trace(net, torch.randn(2, 48, 3))
served = {served}
served(torch.randn(2, 48, 3))
served({called})
"""
CONSTANTS = {
    "a number": (
        "n = int(x.size(1))\n        return h + self.pe[:n]",
        "`int(x.size(1))`",
        "`x.size(1)` for `int(x.size(1))`",
    ),
    "a half": (
        "n = int(x.shape[1] / 2)\n        return h.reshape(x.shape[0], n, 8)",
        "`int(x.shape[1] / 2)`",
        "`(x.shape[1] // 2)` for `int(x.shape[1] / 2)`",
    ),
    "a length": (
        "h = h.transpose(0, 1)\n        return h + self.pe[: len(h), None]",
        "`len(h)`",
        "`h.size(0)` for `len(h)`",
    ),
    "a branch": (
        "h = h.mean(2)\n"
        "        return self.short(h) if h.size(1) == 48 else self.long(h)",
        "`h.size(1) == 48`",
        "",
    ),
}


def rehearse_traced(
    folder: Path, body: str, served: str, called: str = "torch.randn(2, 96, 3)"
) -> Report:
    text = TRACED.replace("{body}", f"        {body}").replace("{called}", called)
    return rehearsed(folder, text.replace("{served}", served))


@pytest.mark.parametrize("served", ["traced", "reload(traced)"])
@pytest.mark.parametrize("name", CONSTANTS)
def test_a_number_that_a_trace_keeps_is_told(
    name: str, served: str, tmp_path: Path
) -> None:
    body, written, fix = CONSTANTS[name]
    (finding,) = rehearse_traced(tmp_path, body, served).findings
    assert finding.code == "size-of-example"
    assert f"{written} at line" in finding.message
    assert finding.line == len(TRACED.splitlines()) + body.count("\n")
    places = [related.message for related in finding.related]
    assert places[0] == "the trace keeps the number of this"
    assert "it is traced here, with an example" in places
    assert [fix.message for fix in finding.fixes] == ([fix] if fix else [])
    assert all(fix.checked for fix in finding.fixes)


@pytest.mark.parametrize(
    "body",
    [
        "return h + self.pe[: x.size(1)]",
        "b, t, _ = x.shape\n        return h.reshape(b * t, -1) + self.pe[: b * t]",
    ],
)
def test_sizes_that_a_trace_follows_are_quiet(body: str, tmp_path: Path) -> None:
    report = rehearse_traced(tmp_path, body, "reload(traced)")
    assert not report.findings
    assert report.complete


def test_features_that_no_number_decides_have_another_cause(tmp_path: Path) -> None:
    body = "n = int(x.size(1))\n        return h + self.pe[:n]"
    called = "torch.randn(2, 48, 5)"
    (finding,) = rehearse_traced(tmp_path, body, "traced", called).findings
    assert finding.code == "torch-error"


def test_the_warnings_of_a_trace_are_given(tmp_path: Path) -> None:
    body = "n = int(x.size(1))\n        return h + self.pe[:n]"
    with pytest.warns(torch.jit.TracerWarning, match="Python integer"):  # type: ignore[attr-defined]
        rehearse_traced(tmp_path, body, "traced", "torch.randn(5, 48, 3)")
