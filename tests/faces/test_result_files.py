"""`-o FILE` writes what the ending says, or writes nothing and says why."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import shapewright as sw
from faces.processes import Done, shared
from shapewright.record.rows import OP_FIELDS
from shapewright.views.portable_tables import format_traces_csv, format_traces_jsonl

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(8, 16)
        self.two = nn.Linear(16, 4)

    def forward(self, x):
        return self.two(self.one(x).relu())


class Wrong(Net):
    def forward(self, x):
        return self.one(self.two(x))


def ends(x):
    import os
    os._exit(3)
"""

COMMANDS = {
    "trace": "trace -i f32[2,8] model.py:Net",
    "check": "check -i f32[2,8] model.py:Wrong",
    "solve": "solve -i f32[N,8] model.py:Net",
    "rehearse": "rehearse run.py",
}
"""A command line of each command, to which `-o FILE` is added."""

ENDINGS = {
    "trace": (".txt", ".json", ".jsonl", ".csv", ".md", ".html", ".svg"),
    "check": (".txt", ".json", ".jsonl", ".csv", ".md", ".sarif", ".svg"),
    "solve": (".txt", ".json", ".svg"),
    "rehearse": (".txt", ".json", ".jsonl", ".csv", ".md", ".sarif", ".svg"),
}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "run.py").write_text("import torch\ntorch.zeros(3) + torch.zeros(4)\n")
    return tmp_path


def write(desk: Path, command: str, file: str) -> Done:
    name, _, rest = COMMANDS[command].partition(" ")
    return shared().run(desk, name, "-o", file, *rest.split())


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_ending_gets_its_format_and_can_be_written_again(
    command: str, desk: Path
) -> None:
    texts = set()
    for ending in ENDINGS[command]:
        again = command == "trace" or ending == ".sarif"
        for _ in range(2 if again else 1):
            done = write(desk, command, f"out{ending}")
            assert done.code < 2, done.err
            assert done.out == ""
            assert f"wrote out{ending}" in done.err
        text = (desk / f"out{ending}").read_text()
        if ending in (".json", ".sarif"):
            json.loads(text)
        texts.add(text)
    assert len(texts) == len(ENDINGS[command])


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("ending", [".png", ".xlsx", ".py"])
def test_other_endings_are_refused_in_a_sentence(
    command: str, ending: str, desk: Path
) -> None:
    before = sorted(desk.iterdir())
    done = write(desk, command, f"out{ending}")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert f", not to `out{ending}`" in done.err
    for known in ENDINGS[command]:
        assert known in done.err
    assert sorted(desk.iterdir()) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("out.csv", "module,params\nconv1,160\n"),
        ("out.csv", "target,module\nmine,1\n"),
        ("out.md", "# My notes\n"),
        ("out.html", "<!doctype html><title>mine</title>"),
        ("out.json", '{"version": 1, "target": "es5", "files": []}'),
        ("out.jsonl", '{"target": "es5", "module": "amd"}\n'),
        ("out.svg", "<svg/>"),
        ("out.txt", "mine\n"),
    ],
)
@pytest.mark.parametrize("command", ["trace", "check"])
def test_files_of_the_user_stay(command: str, file: str, text: str, desk: Path) -> None:
    (desk / file).write_text(text)
    assert write(desk, command, file).code == 2
    assert (desk / file).read_text() == text


def test_a_format_that_contradicts_the_ending_is_refused(desk: Path) -> None:
    done = shared().run(
        desk, *"trace --format json -o out.csv -i f32[2,8] model.py:Net".split()
    )
    assert done == Done(
        2,
        "",
        "error: `--format json` does not fit `out.csv`; name a .json file, or leave "
        "out `--format`\n",
    )


def test_a_trace_as_csv_has_plain_numbers_and_a_row_for_each_call(desk: Path) -> None:
    write(desk, "trace", "out.csv")
    assert [
        (row["module"], row["class"], row["params"]) for row in rows(desk / "out.csv")
    ] == [
        ("", "Net", "212"),
        ("one", "Linear", "144"),
        ("two", "Linear", "68"),
    ]
    shared().run(desk, *"trace --by op -o ops.csv -i f32[2,8] model.py:Net".split())
    assert [(row["name"], row["output"]) for row in rows(desk / "ops.csv")] == [
        ("F.linear", "f32[2, 16]"),
        ("Tensor.relu", "f32[2, 16]"),
        ("F.linear", "f32[2, 4]"),
    ]


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("by", ["module", "op"])
def test_csv_and_json_lines_have_the_rows_of_python(by: str, desk: Path) -> None:
    for ending in ("csv", "jsonl"):
        command = f"trace --by {by} -o out.{ending} -i f32[2,8] model.py:Net"
        shared().run(desk, *command.split())
    shared().run(desk, *"trace -o out.json -i f32[2,8] model.py:Net".split())
    trace = sw.Trace.from_json((desk / "out.json").read_text())
    expected = [{"target": trace.target, **row} for row in trace.rows(by)]  # type: ignore[arg-type]
    assert lines(desk / "out.jsonl") == expected
    assert rows(desk / "out.csv") == [
        {key: "" if value is None else str(value) for key, value in row.items()}
        for row in expected
    ]


def test_a_table_without_rows_still_has_its_columns() -> None:
    trace = sw.trace(lambda: None)
    header = format_traces_csv([trace], "op")
    assert header == f"target,{','.join(OP_FIELDS)}\n"
    assert format_traces_jsonl([trace], "op") == ""


def test_findings_as_json_lines_are_those_of_the_report(desk: Path) -> None:
    command = "check -i f32[2,8] model.py:Wrong --format"
    whole = shared().run(desk, *command.split(), "json")
    done = shared().run(desk, *command.split(), "jsonl")
    assert done.code == whole.code == 1
    findings = json.loads(whole.out)["findings"]
    assert findings
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {"target": "model.py:Wrong", **finding} for finding in findings
    ]


@pytest.mark.parametrize("by", ["module", "op", "line"])
def test_a_trace_as_svg_is_the_page_of_the_terminal(by: str, desk: Path) -> None:
    command = f"trace --by {by} -i f32[2,8] model.py:Net"
    text = shared().run(desk, *command.split()).out
    shared().run(desk, *command.split(), "-o", "out.svg")
    root = ElementTree.fromstring((desk / "out.svg").read_text())
    space = "{http://www.w3.org/2000/svg}"
    drawn = ["".join(node.itertext()) for node in root.iter(f"{space}text")]
    page = [line for line in text.splitlines() if line]
    assert [line.split() for line in drawn[:-1]] == [line.split() for line in page[:-1]]
    kinds = {node.get("class") for node in root.iter(f"{space}tspan")}
    assert {"sw-text", "sw-shape"} <= kinds
    wide = float(root.get("width", "0"))
    assert max(map(len, drawn)) * 12 * 0.6 < wide


def test_a_trace_as_markdown_is_a_table_with_its_totals(desk: Path) -> None:
    write(desk, "trace", "out.md")
    text = (desk / "out.md").read_text()
    assert "| ├─ one | Linear | (2, 8) | (2, 16) f32 | 144 |" in text
    assert "\n- parameters: 212 (848 B), all trainable\n" in text


def test_rows_by_line_are_refused(desk: Path) -> None:
    done = shared().run(
        desk, *"trace --by line -o out.csv -i f32[2,8] model.py:Net".split()
    )
    assert done.code == 2
    assert "csv has a row for each module or op; write `--by op`" in done.err


@pytest.mark.long
@pytest.mark.parametrize(
    "ending", [".json", ".jsonl", ".sarif", ".csv", ".md", ".txt", ".svg"]
)
def test_several_targets_share_a_file(ending: str, desk: Path) -> None:
    targets = ("model.py:Net", "model.py:ends", "model.py:Wrong")
    file = f"out{ending}"
    done = shared().run(desk, "check", "-o", file, "-i", "f32[2, 8]", *targets)
    assert done.code == 1
    assert f"wrote {file}: 3 reports\n" in done.err
    text = (desk / file).read_text()
    if ending == ".json":
        assert [report["target"] for report in json.loads(text)] == list(targets)
    elif ending == ".sarif":
        assert len(json.loads(text)["runs"]) == 3
    elif ending == ".jsonl":
        assert {row["target"] for row in lines(desk / file)} == set(targets[1:])
    elif ending == ".svg":
        root = ElementTree.fromstring(text)
        inner = root.findall("{http://www.w3.org/2000/svg}svg")
        tops = [float(picture.get("y", "0")) for picture in inner]
        assert len(inner) == 3
        assert tops == sorted(set(tops))
        assert tops[-1] < float(root.get("height", "0"))
    elif ending == ".csv":
        assert {row["target"] for row in rows(desk / file)} == set(targets[1:])
    else:
        assert all(target in text for target in targets)
    assert shared().run(desk, "check", "-o", file, targets[0]).code == 0


def test_a_diff_is_not_written(desk: Path) -> None:
    done = shared().run(desk, "check", "--diff", "-o", "out.txt", "model.py:Net")
    assert done.code == 2
    assert "`--diff` is printed" in done.err
