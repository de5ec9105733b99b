"""A folder, and the targets that a project lists, are checked as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faces.processes import Done, shared

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 16)
        self.two = nn.Linear({}, 4)

    def forward(self, x):
        return self.two(self.one(x))
"""

TOKENS = """\
from torch import nn


class TextNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(100, 8)

    def forward(self, tokens):
        return self.tok(tokens).mean(1)
"""

PROJECT = """\
[tool.shapewright]
targets = [
    "nets/good.py:Net",
    {{ target = "tokens.py:TextNet", input = "{}" }},
]
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with two models, and much that is no model."""
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "good.py").write_text(MODEL.format(16))
    (tmp_path / "tokens.py").write_text(TOKENS)
    (tmp_path / "script.py").write_text("import torch\nopen('gone')\n")
    (tmp_path / "test_nets.py").write_text(MODEL.format(9))
    (tmp_path / "notes").mkdir()
    for folder in (".cache", "build", "env/lib"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "copy.py").write_text(MODEL.format(9))
    (tmp_path / "env" / "pyvenv.cfg").touch()
    return tmp_path


def run(folder: Path, line: str) -> Done:
    return shared().run(folder, *line.split())


@pytest.mark.long
def test_check_runs_every_model_of_a_folder_and_nothing_else(desk: Path) -> None:
    assert run(desk, "check -q .") == Done(0, "", "")
    (desk / "nets" / "wrong.py").write_text(MODEL.format(9))
    done = run(desk, "check --format concise .")
    assert done.code == 1
    (line,) = done.out.splitlines()
    assert line.startswith("nets/wrong.py:11:16: error[inner-dim-mismatch]: ")


def test_trace_shows_every_model_of_a_folder(desk: Path) -> None:
    done = run(desk, "trace --format json .")
    assert done.code == 0
    record = json.loads(done.out)
    assert [trace["target"] for trace in record["traces"]] == [
        "tokens.py:TextNet",
        "nets/good.py:Net",
    ]
    assert run(desk, "trace nets").out.endswith("\nnets: 1 of 1 definition traced\n")


def test_a_file_that_cannot_be_read_is_named(desk: Path) -> None:
    (desk / "broken.py").write_text("import torch\nclass Net(:\n")
    done = run(desk, "check --format concise .")
    assert done.code == 0
    assert "not checked: broken.py: " in done.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("check notes", "`notes` has no file that defines a model"),
        ("trace notes", "`notes` has no file that defines a model"),
        ("check -i f32[2] .", "-i is for one model, and `.` is a folder"),
        ("trace -i f32[2] .", "-i is for one model, and `.` is a folder"),
        ("solve nets", "`nets` is a folder; name a model"),
        ("rehearse nets", "`nets` is not a script"),
        ("check", "or list `targets` in `[tool.shapewright]` of pyproject.toml"),
        ("check -i f32[2]", "no target given; -i is for one"),
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(
    line: str, said: str, desk: Path
) -> None:
    done = run(desk, line)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_check_alone_runs_the_targets_of_the_project(desk: Path) -> None:
    (desk / "pyproject.toml").write_text(PROJECT.format("i64[2, 16]"))
    assert run(desk, "check").out.splitlines()[-1] == "tokens.py:TextNet: no findings"
    (desk / "pyproject.toml").write_text(PROJECT.format("f32[2, 16]"))
    for folder, place in ((desk, "tokens.py:10:"), (desk / "nets", "/tokens.py:10:")):
        done = run(folder, "check --format concise")
        assert done.code == 1
        assert place in done.out
        assert "error[dtype-mismatch]" in done.out
    assert run(desk, "check -q nets/good.py:Net").code == 0


def test_a_folder_may_be_listed(desk: Path) -> None:
    (desk / "pyproject.toml").write_text('[tool.shapewright]\ntargets = ["nets"]\n')
    done = run(desk, "check")
    assert done.code == 0
    assert "nets/good.py:Net" in done.out
    assert "TextNet" not in done.out


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ('"model.py:Net"', "must be a list"),
        ("[1]", "1 is neither a target nor a table like"),
        ('[{ input = "f32[2]" }]', "is neither a target nor a table like"),
        ('[{ target = "a.py:b", spec = "f32[2]" }]', "is neither a target nor a"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(
    targets: str, said: str, desk: Path
) -> None:
    (desk / "pyproject.toml").write_text(f"[tool.shapewright]\ntargets = {targets}\n")
    done = run(desk, "check")
    assert (done.code, done.out) == (2, "")
    assert said in done.err
