"""Progress: one line for a person who waits, nothing for anyone else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch  # noqa: F401 - so that each child need not

from shapewright.cli import output
from shapewright.cli.main import main


class Terminal(io.StringIO):
    """A stream with a person behind it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")


def show(stream: Terminal, patience: float, *states: str) -> None:
    with output.show_progress(stream, patience) as line:
        assert line
        for state in states:
            line.show(lambda state=state: state)  # type: ignore[misc]


def test_long_work_shows_a_line_and_leaves_none() -> None:
    stream = Terminal()
    show(stream, 0, "layer 1 of 126, then many more")
    assert stream.getvalue() == "\r\x1b[Klayer 1 of 126  0 s\r\r\x1b[K"


def test_short_work_shows_nothing() -> None:
    stream = Terminal()
    show(stream, 3600, "layer 1 of 126")
    assert stream.getvalue() == ""


def test_a_line_is_not_written_too_often() -> None:
    stream = Terminal()
    show(stream, 0, *map(str, range(100)))
    assert stream.getvalue().count("\x1b[K") == 2  # the first, and the last that erases


def interrupted(stream: Terminal) -> None:
    with output.show_progress(stream, patience=0) as line:
        assert line
        line.show(lambda: "layer 1")
        raise KeyboardInterrupt


def test_the_line_goes_away_when_the_work_fails() -> None:
    stream = Terminal()
    with pytest.raises(KeyboardInterrupt):
        interrupted(stream)
    assert stream.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("stream", "term"), [(io.StringIO(), "xterm"), (Terminal(), "dumb")]
)
def test_nobody_is_shown_what_they_cannot_see(
    stream: io.StringIO, term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    with output.show_progress(stream, patience=0) as line:
        assert line is None


PROGRAM = """\
import torch


def double(x):
    print("printed by the program")
    return x * 2


def example_inputs():
    return "f32[N, 2]"


if __name__ == "__main__":
    double(torch.zeros(2, 2))
"""

LINES = {
    "trace model.py:double": "tracing model.py:double",
    "check model.py:double": "checking model.py:double",
    "check model.py:double model.py": "checking model.py:double (1 of 2)",
    "solve -i f32[N,2] model.py:double": "solving for the sizes of model.py:double",
    "rehearse model.py": "rehearsing model.py",
    "explain model.py:6": "drawing model.py:6",
    "explain torch.relu(f32[3,4])": "drawing torch.relu(f32[3,4])",
}


def run(line: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[int, str]:
    """The exit code, and what somebody at a terminal was shown on stderr."""
    monkeypatch.chdir(folder)
    (folder / "model.py").write_text(PROGRAM)
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(output, "PATIENCE", 0)
        patch.setattr("sys.stderr", stream)
        return main(line.split()), stream.getvalue()


def erase(shown: str) -> str:
    """What is left on a terminal: the text behind the last erasure of each line."""
    lines = shown.replace("\r\x1b[K", "\x1b[K").split("\n")
    return "\n".join(line.rpartition("\x1b[K")[2].rstrip("\r") for line in lines)


@pytest.mark.parametrize("line", LINES)
def test_every_command_shows_what_it_does(
    line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, shown = run(line, monkeypatch, tmp_path)
    assert code == 0
    assert f"\r\x1b[K{LINES[line]}" in shown
    assert shown.count("printed by the program") == erase(shown).count(
        "printed by the program\n"
    )
    assert LINES[line] not in erase(shown)


def test_quiet_shows_no_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for line in LINES:
        command, _, rest = line.partition(" ")
        assert "\x1b" not in run(f"{command} -q {rest}", monkeypatch, tmp_path)[1]
