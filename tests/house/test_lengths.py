"""What `make test` leaves out exists, and is run by `make test-all`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lengths import FILES, LONG, PARTS, ZOO, is_long

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("name", [*LONG, *PARTS, *ZOO])
def test_what_is_left_out_is_a_test(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"\ndef {function}(" in (TESTS / file).read_text("utf-8")


@pytest.mark.parametrize("file", FILES)
def test_a_part_of_each_file_is_quick(file: str) -> None:
    names = re.findall(r"^def (test_\w+)\(", (TESTS / file).read_text("utf-8"), re.M)
    cases = [(f"{file}::{name}", case) for name in names for case in ("", *"abcdefgh")]
    assert not all(is_long(name, case, True) for name, case in cases)


def test_everything_runs_before_a_merge() -> None:
    makefile = (TESTS.parent / "Makefile").read_text("utf-8")
    assert 'REST := -m "not zoo and (long or hypothesis)"' in makefile
    assert "$(SHARED) $(REST)" in makefile.partition("\nwheel:")[2].partition("\n\n")[0]
    quick = (TESTS.parent / "pyproject.toml").read_text("utf-8")
    assert "not zoo and not long" in quick
    steps = (TESTS.parent / ".ci/run").read_text("utf-8")
    assert "in lint docs wheel test;" in steps
