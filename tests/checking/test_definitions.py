"""In a file that only contains definitions, each class and function is checked."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from shapewright.api import check_target, trace_target
from shapewright.cli.main import main
from shapewright.inputs.errors import InputError
from shapewright.program.runnable_definitions import find_runnables

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
"""
PARTS = """

class Block(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.conv = nn.Conv2d(width, out, 3)

    def forward(self, x):
        return self.conv(x)


class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(3, 8)
        self.out = nn.Conv2d(9, 3, 3)

    def forward(self, x):
        return self.out(self.block(x))


class Right(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(3, 8)

    def forward(self, x):
        return self.block(x)


class Head(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, 3)

    def forward(self, x):
        return self.fc(x)


def error_of(prediction, label):
    return F.mse_loss(prediction, label)


def add_numbers(a, b):
    return a + b
"""
MAIN = """

if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.parse_args()
"""
USED = """

if __name__ == "__main__":
    print(Right()(torch.ones(1, 3, 8, 8)).shape)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, text: str) -> str:
    (folder / "model.py").write_text(HEAD + text)
    return "model.py"


def names(text: str) -> list[tuple[str, str]]:
    return [(e.name, e.kind) for e in find_runnables(ast.parse(HEAD + text))]


def test_what_a_file_defines() -> None:
    assert names(PARTS) == [
        ("Block", "class"),
        ("Wrong", "class"),
        ("Right", "class"),
        ("Head", "class"),
        ("error_of", "function"),
    ]


def test_instances_builders_and_foreign_bases() -> None:
    text = """
from base import Backbone

net = nn.Sequential(nn.Linear(3, 4)).eval()
size = 3


def make(width):
    layers = nn.ModuleList([nn.Linear(width, 3)])
    return layers


class Mine(Backbone):
    def forward(self, x):
        return x


class Loader(torch.utils.data.Dataset):
    def forward(self, x):
        return x


def batches(x):
    yield x @ x


def example_inputs():
    return torch.ones(2)
"""
    assert names(text) == [("net", "instance"), ("make", "builder"), ("Mine", "class")]


def test_every_definition_is_checked(folder: Path, capsys: Any) -> None:
    code = main(["check", written(folder, PARTS)])
    out = capsys.readouterr().out
    assert code == 1
    assert "model.py:Wrong: 1 error\n" in out
    assert "model.py:Right: no findings at sizes that were chosen: x is f32[2, " in out
    assert "model.py:error_of: no findings at sizes that were chosen: " in out
    assert "model.py:Block" not in out  # it ran inside the others
    assert out.endswith(
        'not checked: model.py:Head: it needs `dim`; write "model.py:Head(dim=...)"\n'
        "model.py: 3 of 4 definitions checked: 1 error\n"
    )


def test_nothing_wrong_is_not_plain(folder: Path, capsys: Any) -> None:
    right = PARTS.replace("nn.Conv2d(9, 3, 3)", "nn.Conv2d(8, 3, 3)")
    assert main(["check", written(folder, right)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "model.py: 3 of 4 definitions checked: no findings at sizes that were chosen"
    )


@pytest.mark.long
def test_a_main_part_without_tensors(folder: Path, capsys: Any) -> None:
    assert main(["check", written(folder, PARTS + MAIN)]) == 1
    out = capsys.readouterr().out
    assert "model.py:Wrong: 1 error\n" in out
    assert (
        "not checked: model.py: run as a script, the program called `sys.exit(2)`"
        in out
    )


def test_a_script_that_runs_its_model_is_a_script(folder: Path) -> None:
    report = check_target(written(folder, PARTS + USED))
    assert report.parts == ()
    assert report.exit_code == 0


def test_json(folder: Path, capsys: Any) -> None:
    main(["check", "--format", "json", written(folder, PARTS)])
    data = json.loads(capsys.readouterr().out)
    assert data["target"] == "model.py"
    assert [each["code"] for each in data["findings"]] == ["channel-mismatch"]
    assert [each["target"] for each in data["targets"]] == [
        "model.py:Right",
        "model.py:Wrong",
        "model.py:error_of",
    ]
    assert data["not_checked"][0]["target"] == "model.py:Head"


def test_findings_alone(folder: Path, capsys: Any) -> None:
    file = written(folder, PARTS)
    main(["check", "--format", "concise", file])
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1
    assert "not checked: model.py:Head" in told.err
    main(["check", "--format", "github", file])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::error", "::notice"]
    main(["check", "--format", "sarif", file])
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert len(run["results"]) == 1
    told = run["invocations"][0]["toolExecutionNotifications"][-1]
    assert told["message"]["text"].startswith("model.py:Head was not checked")


def test_declared_inputs_belong_to_the_outermost_model(folder: Path) -> None:
    text = """

class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        return self.fc(x)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch = Branch()

    def forward(self, x):
        return self.branch(x[..., :4])


def example_inputs():
    return (torch.ones(2, 6),)
"""
    report = check_target(written(folder, text))
    assert report.exit_code == 0
    assert [(each.target, each.chosen is None) for each in report.parts] == [
        ("model.py:Pair", True),
        ("model.py:Branch", False),
    ]


def test_nothing_can_be_checked(folder: Path, capsys: Any) -> None:
    text = PARTS[PARTS.index("class Head") : PARTS.index("def error_of")]
    assert main(["check", written(folder, text)]) == 2
    said = capsys.readouterr().err
    assert 'write `shapewright check -i "f32[...]" model.py:Head`' in said
    assert "it needs `dim`" in said


@pytest.mark.parametrize("command", ["check", "trace"])
def test_a_file_without_tensors(folder: Path, capsys: Any, command: str) -> None:
    (folder / "model.py").write_text("WIDTH = 3\n")
    assert main([command, "model.py"]) == 2
    assert "`model.py` made no tensor call" in capsys.readouterr().err


def test_another_target_is_not_hidden(folder: Path, capsys: Any) -> None:
    (folder / "empty.py").write_text("WIDTH = 3\n")
    assert main(["check", "empty.py", written(folder, PARTS)]) == 2
    told = capsys.readouterr()
    assert "`empty.py` made no tensor call" in told.err
    assert "model.py:Wrong: 1 error" in told.out


def test_traces_of_each(folder: Path, capsys: Any) -> None:
    file = written(folder, PARTS)
    outcome = trace_target(file)
    assert {each.target for each in outcome.parts} == {
        "model.py:Right",
        "model.py:Wrong",
        "model.py:error_of",
    }
    assert outcome.exit_code == 1
    main(["trace", file])
    assert capsys.readouterr().out.endswith(
        'not traced: model.py:Head: it needs `dim`; write "model.py:Head(dim=...)"\n'
        "model.py only contains definitions: 3 of 4 definitions traced\n"
    )
    main(["trace", "--format", "json", file])
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == "traces"
    assert len(data["traces"]) == 3
    main(["trace", "-o", "all.json", file])
    assert main(["trace", "-o", "all.json", file]) == 1  # it is ours to replace


def test_what_cannot_be_read_is_told_as_before(folder: Path) -> None:
    with pytest.raises(InputError):
        check_target("missing.py")


def test_the_first_argument_of_a_class_has_any_name(folder: Path, capsys: Any) -> None:
    text = "from torch import nn\n\n\nclass Net(nn.Module):\n"
    text += "    def __init__(s):\n        super().__init__()\n"
    text += "        s.a = nn.Linear(4, 5)\n        s.b = nn.Linear(6, 2)\n\n"
    text += "    def forward(s, x):\n"
    text += "        return s.b(s.a(x))\n"
    assert main(["check", written(folder, text)]) == 1
    assert "error[inner-dim-mismatch]" in capsys.readouterr().out
