"""The note in the terminal, in a file's JSON, and on its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shapewright.cli.main import main

PROGRAM = """\
import torch


def sample(src, index):
    out = torch.zeros(7, 9)
    for i in range(7):
        for j in range(9):
            out[i, j] = src[index[i, j], j]
    return out
"""

NOTE = """\
note[python-loop]: `out[i, j] = src[index[i, j], j]` ran 63 times: \
`out = torch.gather(src, 0, index)` does it at once, checked on random elements
 --> naive.py:8:13
  │
8 │             out[i, j] = src[index[i, j], j]
  │             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  │
  = the loop begins, at line 6
"""

COMMAND = ["trace", "-i", "f32[12, 9], i64[7, 9]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "naive.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_note_stands_below_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*COMMAND, "--by", "line", "naive.py:sample"])
    shown = capsys.readouterr().out
    assert NOTE in shown
    assert "() f32" in next(x for x in shown.splitlines() if x.startswith("   8 │"))
    assert code == 0


def test_the_note_is_in_the_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([*COMMAND, "--format", "json", "naive.py:sample"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["code"] == "python-loop"
    assert finding["severity"] == "note"
    assert finding["count"] == 63
    assert finding["span"]["line"] == 8


def test_an_error_after_the_loop_still_counts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "naive.py").write_text(PROGRAM.replace("return out", "return out @ out"))
    assert main([*COMMAND, "naive.py:sample"]) == 1
    shown = capsys.readouterr().out
    assert "error[torch-error]" in shown
    assert "note[python-loop]" in shown


def test_the_code_has_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "python-loop"]) == 0
    assert "This one is not, because each iteration needs" in capsys.readouterr().out


def test_check_says_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check", "-i", "f32[12, 9], i64[7, 9]", "naive.py:sample"])
    assert NOTE in capsys.readouterr().out
    assert code == 0
