"""The README's first screen keeps its promises."""

from __future__ import annotations

import re

import pytest

from shapewright.inputs.spec import parse_spec
from shapewright.inputs.target import parse_target
from tests.house import pages

README = (pages.ROOT / "README.md").read_text("utf-8")
FIRST_SCREEN = README.splitlines()[:40]


def test_the_first_screen_has_what_a_newcomer_needs() -> None:
    assert FIRST_SCREEN[0] == "# Shapewright"
    for command in ("make demo", "make test", "pip install shapewright"):
        assert any(line.startswith(command) for line in FIRST_SCREEN), command


def test_the_demo_is_the_command_of_the_readme() -> None:
    makefile = (pages.ROOT / "Makefile").read_text()
    shape = re.search(r"^SHAPE := (.*)$", makefile, re.MULTILINE)
    recipe = re.search(r"^demo:.*\n\t@\$\(BIN\)/(.*)$", makefile, re.MULTILINE)
    assert shape
    assert recipe
    assert f"$ {recipe[1].replace('$(SHAPE)', shape[1])}\n" in README


def first_column(page: str, heading: str) -> list[str]:
    """The code of the first column of the table with that heading."""
    text = (pages.ROOT / page).read_text("utf-8")
    table = text.partition(f"| {heading} |")[2].partition("\n\n")[0]
    rows = [row.split(" | ")[0] for row in table.splitlines()[2:]]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("spec", first_column("docs/targets.md", "spec"))
def test_every_spec_of_the_docs_can_be_read(spec: str) -> None:
    assert parse_spec(spec).leaves


@pytest.mark.parametrize("target", first_column("docs/targets.md", "target"))
def test_every_target_of_the_docs_can_be_read(target: str) -> None:
    assert parse_target(target.strip('"'))
