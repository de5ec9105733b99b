"""Progress: one line for a person who waits, nothing for anyone else."""

from __future__ import annotations

import io

import pytest

from shapewright.cli import output


class Terminal(io.StringIO):
    """A stream with a person behind it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")


def test_long_work_shows_a_line_and_leaves_none() -> None:
    stream = Terminal()
    with output.show_progress(stream, patience=0) as report:
        assert report
        report("layer 1 of 126, then many more")
    assert stream.getvalue() == "\r\x1b[Klayer 1 of 126, the\r\x1b[K"


def test_short_work_shows_nothing() -> None:
    stream = Terminal()
    with output.show_progress(stream, patience=3600) as report:
        assert report
        report("layer 1 of 126")
    assert stream.getvalue() == ""


def interrupted(stream: Terminal) -> None:
    with output.show_progress(stream, patience=0) as report:
        assert report
        report("layer 1")
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
    with output.show_progress(stream, patience=0) as report:
        assert report is None
