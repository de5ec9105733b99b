"""Usual errors, one program for each kind, and the first fix of each.

The programs stand in `tests/posts/errors`; their first line says where the mistake is
and how it is mended. `first_fixes.json` beside them has the first fix where it is what
an author would write, with the libraries that a program needs.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

ERRORS = Path(__file__).resolve().parents[1] / "posts" / "errors"
FIRST: dict[str, dict[str, object]] = json.loads(
    (ERRORS / "first_fixes.json").read_text("utf-8")
)
TRUE = {"residual-size_1": {"no-gradient"}}
"""What is true of mended programs: no loss reads the last block's `to_res`."""
FIXED = [name for name, known in FIRST.items() if not known["needs"]]


@pytest.mark.parametrize("name", FIXED)
def test_the_first_fix_is_what_an_author_would_write(name: str, tmp_path: Path) -> None:
    program = (ERRORS / f"{name}.py").read_text("utf-8")
    report = rehearsed(tmp_path, program)
    errors = [f for f in report.findings if f.severity == "error" and f.fixes]
    assert errors[0].fixes[0].message == FIRST[name]["fix"]


@pytest.mark.parametrize("name", FIXED)
def test_the_mended_program_has_no_error(name: str, tmp_path: Path) -> None:
    program = (ERRORS / f"{name}.right.py").read_text("utf-8")
    report = rehearsed(tmp_path, program)
    told = {f.code for f in report.findings if f.severity != "note"}
    assert told == TRUE.get(name, set())
