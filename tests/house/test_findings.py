"""One registry of findings: each code has what reports it, a page and an example."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import shapewright
import shapewright.analysis.edges
import shapewright.analysis.hazards
import shapewright.analysis.python_loops
import shapewright.analysis.training_mistakes
from shapewright.findings.codes import (
    CODES,
    ERRORS,
    LOOKERS,
    Code,
    add_code,
    find_page,
    looks_for,
)
from tests.house import pages

SOURCE = Path(shapewright.__file__).parent
REGISTRY = "shapewright.findings.codes"
ERROR_PAGES = [
    find_page for find_page in pages.PAGES if find_page.startswith("docs/errors/")
]
FAMILIES = [
    find_page for find_page in ERROR_PAGES if not find_page.endswith("index.md")
]
LISTS = ("docs/hazards.md", "docs/rehearse.md")
ROOMS = {
    "need": ("operators",),
    "error": ("analysis", "engine", "runtime", "cli"),
    "hazard": ("analysis/hazards",),
    "loop": ("analysis/python_loops",),
    "edge": ("analysis/edges",),
    "mistake": ("analysis/training_mistakes",),
}
"""The folders whose files report the findings of each kind."""
GENERAL = {"python-loop", "wrong-rank"}
"""Codes whose entry says more than the row of one table."""


def rooms_of(entry: Code) -> tuple[str, ...]:
    return tuple(f"{room}/" for room in ROOMS[entry.kind])


def constant(code: str) -> str:
    return code.upper().replace("-", "_")


def importers() -> dict[str, set[str]]:
    """The files that import each constant of the registry."""
    found = defaultdict(set)
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == REGISTRY:
                for alias in node.names:
                    found[alias.name].add(file.relative_to(SOURCE).as_posix())
    return found


def rows(name: str) -> dict[str, list[str]]:
    """The cells behind each code in the first column of a page's tables."""
    lines = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", pages.read(name), re.MULTILINE)
    return {code: rest.split(" | ") for code, rest in lines}


def test_each_code_is_imported_by_name_where_its_kind_is_reported() -> None:
    found = importers()
    for code, entry in CODES.items():
        rooms = rooms_of(entry)
        assert any(file.startswith(rooms) for file in found[constant(code)]), code


def test_no_code_is_written_as_text_where_a_finding_is_made() -> None:
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            made = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if made in ("Finding", "Unmet", "finding", "looks_for"):
                for value in [*node.args[:1], *(k.value for k in node.keywords)][:1]:
                    text = value.value if isinstance(value, ast.Constant) else None
                    assert text not in CODES, f"{file}:{node.lineno}: {text}"


def test_what_is_looked_for_has_one_looker() -> None:
    looked_for = [code for looker in LOOKERS for code in looker.codes]
    assert len(looked_for) == len(set(looked_for))
    kinds = {"hazard", "loop", "edge", "mistake"}
    assert set(looked_for) == {c for c, entry in CODES.items() if entry.kind in kinds}


def test_a_misspelt_code_fails_at_import() -> None:
    with pytest.raises(KeyError):
        looks_for("lay-out")
    with pytest.raises(ImportError):
        exec(f"from {REGISTRY} import LAY_OUT")
    with pytest.raises(AssertionError, match="two codes"):
        add_code(CODES["layout"])


def test_each_code_has_a_page_with_what_it_means_and_what_to_do() -> None:
    assert {f"{c}.md" for c in CODES} == {
        file.name for file in (SOURCE / "findings/explain").glob("*.md")
    }
    for code, entry in CODES.items():
        text = find_page(code) or ""
        assert text.startswith(f"# {code}\n")
        assert entry.title
        assert entry.edit
        if entry.kind == "hazard":  # a true and a false example
            assert text.count("```python") >= 2, code


def test_each_code_stands_in_a_table_of_the_documentation_as_in_its_entry() -> None:
    tables = defaultdict(list)
    for name in (*FAMILIES, *LISTS):
        for code, cells in rows(name).items():
            tables[code].append(cells)
    assert set(tables) >= set(CODES) - {"python-loop"}
    assert "[python-loop]" in pages.read("docs/trace.md")
    for code in set(CODES) - GENERAL:
        entry = CODES[code]
        assert any(
            cells in ([entry.title], [entry.title, entry.edit])
            for cells in tables[code]
        ), f"{code}: {tables[code]}"


@pytest.mark.parametrize("name", FAMILIES)
def test_each_code_of_a_page_happens_in_its_example(name: str) -> None:
    text = pages.read(name)
    table = text.partition("Codes that no sizes lead to")[0].partition("```")[0]
    wanted = re.findall(r"^\| `([a-z-]+)`", table, flags=re.MULTILINE)
    shown = re.findall(r": error\[([a-z-]+)\]", text)
    assert wanted
    assert set(wanted) <= set(shown), "what the example shows is checked by snippets"


def test_the_table_of_contents_has_all_codes_of_all_pages() -> None:
    text = pages.read("docs/errors/index.md")
    for name in FAMILIES:
        row = next(line for line in text.splitlines() if f"({name[12:]})" in line)
        for code in re.findall(r"`([a-z-]+)`", row):
            assert code in rows(name), (name, code)


def test_only_what_runs_is_switched_off() -> None:
    kinds = {entry.kind for entry in CODES.values() if not entry.is_switchable}
    assert kinds == set(ERRORS)


def test_all_exceptions_are_caught_for_a_stated_reason_only() -> None:
    bare = [
        f"{file.relative_to(SOURCE)}: {line.strip()}"
        for file in SOURCE.rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if re.match(r"\s*except (Base)?Exception\b", line) and "  # " not in line
    ]
    assert bare == []
