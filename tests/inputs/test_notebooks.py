"""Notebooks are targets: a name in their cells, or all cells as a script."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from shapewright import api
from shapewright.cli.main import main
from shapewright.inputs.errors import InputError

IMPORTS = """\
%matplotlib inline
import torch
from torch import nn
try:
    import apex
except ImportError:
    apex = None
"""

MODEL = """\
class Net(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.one = nn.Linear(8, width)
        self.two = nn.Linear(TWICE, 4)

    def forward(self, x):
        return self.two(self.one(x))
"""

TRAINING = """\
%%time
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(50):
    loss = net(torch.randn(6, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
display(loss)
"""

CELLS = (
    "!pip install timm",
    IMPORTS,
    "WIDTH = 16\nTWICE = WIDTH",
    MODEL,
    "rows = open('no such file').read()",
    "net = Net()\nnet?",
    TRAINING,
    "%%bash\nrm -rf data",
)

Printed = pytest.CaptureFixture[str]


def write_notebook(file: str, *cells: str, language: str = "python") -> str:
    listed = [{"cell_type": "markdown", "metadata": {}, "source": ["# Title\n"]}]
    for code in cells:
        lines = code.splitlines(keepends=True)
        listed.append({"cell_type": "code", "metadata": {}, "source": lines})
    notebook = {
        "cells": listed,
        "metadata": {"language_info": {"name": language}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    Path(file).write_text(json.dumps(notebook))
    return file


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_class_of_a_notebook_is_traced_without_its_other_cells() -> None:
    write_notebook("model.ipynb", *CELLS)
    trace = api.trace_target("model.ipynb:Net", "f32[6, 8]").trace
    assert trace.output.shape == (6, 4)
    assert trace.ops[0].span is not None
    assert trace.ops[0].span.file == "model.ipynb"
    assert "torch" in sys.modules


def test_arguments_and_instances_are_taken_as_in_a_file() -> None:
    write_notebook("model.ipynb", *CELLS[:4], "net = Net(width=16)")
    trace = api.trace_target("model.ipynb:net", "f32[6, 8]").trace
    assert trace.output.shape == (6, 4)
    trace = api.trace_target("model.ipynb:Net(width=16).one", "f32[2, 8]").trace
    assert trace.output.shape == (2, 16)


def test_a_line_is_shown_as_it_stands_in_its_cell(capfd: Printed) -> None:
    write_notebook("model.ipynb", *CELLS)
    assert main(["trace", "--by", "line", "model.ipynb:Net", "-i", "f32[6, 8]"]) == 0
    assert "│     return self.two(self.one(x))" in capfd.readouterr().out


def test_rehearse_runs_the_whole_notebook_as_a_script(capfd: Printed) -> None:
    cells = [cell for cell in CELLS if "no such file" not in cell]
    write_notebook("train.ipynb", *cells)
    assert main(["rehearse", "train.ipynb"]) == 0
    printed = capfd.readouterr().out
    assert "for epoch in range(50):" in printed
    assert "turns 1-2, 50 of 50" in printed


def test_a_mistake_gets_its_finding_and_the_notebook_is_not_written_to(
    capfd: Printed,
) -> None:
    cells = [cell.replace("Linear(TWICE", "Linear(9") for cell in CELLS]
    write_notebook("wrong.ipynb", *cells)
    before = Path("wrong.ipynb").read_text()
    given = ["-i", "f32[6, 8]", "wrong.ipynb:Net"]
    assert main(["check", "--unsafe-fixes", *given]) == 1
    printed = capfd.readouterr()
    assert "error[inner-dim-mismatch]: `two` needs 9 input features" in printed.out
    assert "(checked by running it)" in printed.out
    assert "wrong.ipynb is a notebook, which is not written to" in printed.err
    assert Path("wrong.ipynb").read_text() == before
    assert main(["check", "--diff", "--unsafe-fixes", *given]) == 1
    assert "+        self.two = nn.Linear(WIDTH, 4)" in capfd.readouterr().out.replace(
        "nn.Linear(16, 4)", "nn.Linear(WIDTH, 4)"
    )


def test_a_notebook_that_changed_is_read_anew() -> None:
    for width in (16, 32):
        write_notebook("model.ipynb", IMPORTS, f"WIDTH = TWICE = {width}", MODEL)
        trace = api.trace_target("model.ipynb:Net", "f32[6, 8]").trace
        assert trace.ops[0].outputs[0].shape == (6, width)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "is not read as a notebook: it has no cells"),
        ("[1, 2", "is not read as a notebook: it has no cells"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, said: str) -> None:
    Path("model.ipynb").write_text(text)
    with pytest.raises(InputError, match=said):
        api.trace_target("model.ipynb:Net")


def test_a_notebook_of_another_language_is_refused() -> None:
    write_notebook("model.ipynb", "x <- 1", language="R")
    with pytest.raises(InputError, match="a notebook of r, not of Python"):
        api.trace_target("model.ipynb:Net")


def test_solve_takes_a_notebook_and_a_missing_one_is_named() -> None:
    write_notebook("model.ipynb", *CELLS)
    solution = api.solve_target("model.ipynb:Net", "f32[B, N]")
    assert solution.takes(B=5, N=8)
    assert not solution.takes(B=5, N=9)
    with pytest.raises(InputError, match=r"no such file: `modle.ipynb`"):
        api.trace_target("modle.ipynb:Net")
