"""Every code of a finding stands on a page, and happens in that page's example."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shapewright
from shapewright.findings.finding import codes
from tests.house import pages

ERRORS = [page for page in pages.PAGES if page.startswith("docs/errors/")]
FAMILIES = [page for page in ERRORS if not page.endswith("index.md")]
OPERATORS = Path(shapewright.__file__).parent / "operators"


def given() -> Iterator[str]:
    """The codes that needs give: first in `Unmet(...)`, or what `code` is set to."""
    for file in OPERATORS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            found: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found = node.args[:1] if node.func.id == "Unmet" else []
            elif isinstance(node, ast.Assign):
                names = {getattr(target, "id", "") for target in node.targets}
                found = [node.value] if "code" in names else []
            for value in found:
                for each in ast.walk(value):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.value


def given_codes() -> set[str]:
    """The same, each once; that there are any is part of the claim."""
    codes = set(given())
    assert "inner-dim-mismatch" in codes
    return codes


def in_tables(page: str) -> list[str]:
    """The codes in the first columns of a page's tables."""
    text = pages.read(page)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return [code for row in rows for code in re.findall(r"^\| `([a-z-]+)`", row)]


def test_each_code_that_a_need_gives_has_a_page_to_explain_it() -> None:
    assert given_codes() <= set(codes())


def test_each_code_stands_on_a_page_of_the_documentation() -> None:
    told = {code for page in FAMILIES for code in in_tables(page)}
    assert given_codes() <= told
    for page in (
        "docs/hazards.md",
        "docs/rehearse.md",
        "docs/trace.md",
    ):  # of what runs
        told |= set(re.findall(r"[`\[]([a-z-]+)[`\]]", pages.read(page)))
    assert set(codes()) <= told


@pytest.mark.parametrize("page", FAMILIES)
def test_each_code_of_a_page_happens_in_its_example(page: str) -> None:
    text = pages.read(page)
    table = text.partition("Codes that no sizes lead to")[0].partition("```")[0]
    wanted = re.findall(r"^\| `([a-z-]+)`", table, flags=re.MULTILINE)
    shown = re.findall(r": error\[([a-z-]+)\]", text)
    assert wanted
    assert set(wanted) <= set(shown), "what the example shows is checked by snippets"


def test_the_table_of_contents_has_all_codes_of_all_pages() -> None:
    text = pages.read("docs/errors/index.md")
    for page in FAMILIES:
        row = next(line for line in text.splitlines() if f"({page[12:]})" in line)
        for code in re.findall(r"`([a-z-]+)`", row):
            assert code in in_tables(page), (page, code)
