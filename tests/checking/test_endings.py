"""The program's own Python raises over sizes: what was compared, and from where."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from torch import nn

import shapewright as sw
from shapewright.findings.finding import Finding

PROGRAM = """\
import torch
from torch import nn


def heads_of(x, heads):
    b, t, d = x.shape
    return x.view(b, t, heads, d // heads)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 64
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(12, 24)
        self.rnn = nn.GRU(12, 24)

    def forward(self, x):
{lines}
        return x
"""

IMAGE, ROWS = "f32[2, 3, 10, 10]", "f32[2, 7, 12]"
CASES: list[tuple[str, str, str, str, str]] = [
    (
        IMAGE,
        "y = self.conv(x)\nB, T, C = y.shape",
        "unpacked-sizes",
        "`B, T, C` expects 3 sizes, but `y` (2, 8, 8, 8) has 4 dims",
        "`y` (2, 8, 8, 8) is made by `conv`",
    ),
    (
        ROWS,
        "b, c, h, w = self.fc(x).size()",
        "unpacked-sizes",
        "`b, c, h, w` expects 4 sizes, but `self.fc(x)` (2, 7, 24) has 3 dims",
        "`self.fc(x)` (2, 7, 24) is made by `fc`",
    ),
    (
        "f32[2, 12]",
        "q = self.fc(x)\nheads_of(q, 4)",
        "unpacked-sizes",
        "`b, t, d` expects 3 sizes, but `x` (2, 24) has 2 dims",
        "`x` (2, 24) is made by `fc`",
    ),
    (
        ROWS,
        "q, k, v = self.fc(x).chunk(2, -1)",
        "unpacked-sizes",
        "`q, k, v` expects 3 values, but `Tensor.chunk` gives 2: (2, 7, 12), (2, 7, "
        "12)",
        "",
    ),
    (
        ROWS,
        "out, (h, c) = self.rnn(x)",
        "unpacked-sizes",
        "`(h, c)` expects 2 values, but `self.rnn(x)` gives one tensor there,"
        " (1, 7, 24) with 1 in dim 0",
        "",
    ),
    (
        ROWS,
        "h = self.fc(x)\nassert h.shape[-1] == self.n, 'wrong width'",
        "size-check",
        "wrong width: `h.shape[-1] == self.n` does not hold: `h.shape[-1]` is 24,"
        " `self.n` is 64",
        "24 is dim 0 of `fc.weight` (24, 12)",
    ),
    (
        ROWS,
        "b, t, d = x.shape\nassert b == 2 and t <= 4",
        "size-check",
        "`b == 2 and t <= 4` does not hold: `t` is 7",
        "7 is dim 1 of the input (2, 7, 12)",
    ),
    (
        IMAGE,
        "h, w = self.conv(x).shape[-2:]\nif h % 3 != 0:\n    raise ValueError('odd')",
        "size-check",
        "`ValueError`: odd: `h % 3 != 0` holds: `h` is 8",
        "10 -> 8 through `conv`",
    ),
    (
        ROWS,
        "if x.dim() != 4:\n    raise ValueError(f'got {x.dim()}D')",
        "size-check",
        "`ValueError`: got 3D: `x.dim() != 4` holds: `x.dim()` is 3",
        "(2, 7, 12) is the shape of the input",
    ),
    (
        ROWS,
        "torch._assert(x.shape[-1] == 32, 'bad width')",
        "size-check",
        "bad width: `x.shape[-1] == 32` does not hold: `x.shape[-1]` is 12",
        "12 is dim 2 of the input (2, 7, 12)",
    ),
    (
        ROWS,
        "y = self.fc(x)\ny.view(y.shape[0], y.shape[3])",
        "dim-out-of-range",
        "`y.shape[3]` reads dim 3, but `y` (2, 7, 24) has dims 0 to 2",
        "`y` (2, 7, 24) is made by `fc`",
    ),
    (
        ROWS,
        "if x.is_floating_point():\n    raise KeyError('no size')",
        "program-error",
        "`KeyError`: 'no size'",
        "",
    ),
]


def found(lines: str, spec: str, folder: Path) -> Finding:
    """The last finding of a program with these lines."""
    file = folder / "net.py"
    body = "\n".join(f"{' ' * 8}{line}" for line in lines.splitlines())
    file.write_text(PROGRAM.format(lines=body))
    given = importlib.util.spec_from_file_location("net", file)
    assert given is not None
    assert given.loader is not None
    module = importlib.util.module_from_spec(given)
    given.loader.exec_module(module)
    return sw.check(module.Net(), spec).findings[-1]


@pytest.mark.parametrize(("spec", "lines", "code", "message", "where"), CASES)
def test_what_was_unpacked_or_compared_is_told(
    spec: str, lines: str, code: str, message: str, where: str, tmp_path: Path
) -> None:
    finding = found(lines, spec, tmp_path)
    assert (finding.code, finding.message) == (code, message)
    related = [each.message for each in finding.related]
    assert (where in related) if where else not related


def test_a_state_that_would_end_the_process_is_an_error():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(4, 6)

        def forward(self, x):
            state = x.new_zeros(6, 6)
            return self.cell(x, (state, state))[0]

    report = sw.check(Cell(), "f32[4]")
    (finding,) = [each for each in report.findings if each.severity == "error"]
    assert "2D" in finding.torch_message
