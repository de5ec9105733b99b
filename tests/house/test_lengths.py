"""What `make test` leaves out exists, and is run by `make test-all`."""

from __future__ import annotations

from pathlib import Path

import pytest

from lengths import LONG, PARTS

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [*LONG, *PARTS])
def test_what_is_left_out_is_a_test(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"\ndef {function}(" in (TESTS / file).read_text("utf-8")


def test_everything_runs_once_on_the_installed_wheel() -> None:
    makefile = (TESTS.parent / "Makefile").read_text("utf-8")
    assert '-m "not zoo"' in makefile
    assert "test-all" in (TESTS.parent / ".ci/run").read_text("utf-8")
