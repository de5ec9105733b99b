"""Width and colour follow the terminal, NO_COLOR and FORCE_COLOR."""

from __future__ import annotations

import io

import pytest

from shapewright.cli import output
from shapewright.cli.output import Display


class Terminal(io.StringIO):
    """A stream with a person behind it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal(), {"COLUMNS": "120"}, Display(120, True)),
        (Terminal(), {"COLUMNS": "120", "NO_COLOR": "1"}, Display(120, False)),
        (Terminal(), {"COLUMNS": "120", "NO_COLOR": ""}, Display(120, True)),
        (Terminal(), {"COLUMNS": "120", "TERM": "dumb"}, Display(120, False)),
        (io.StringIO(), {"COLUMNS": "120"}, Display(100, False)),
        (io.StringIO(), {"FORCE_COLOR": "1"}, Display(100, True)),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, Display(100, False)),
    ],
)
def test_display(
    stream: io.StringIO,
    environment: dict[str, str],
    expected: Display,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert output.get_display(stream) == expected
