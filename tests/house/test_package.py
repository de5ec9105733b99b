"""What ships: the files that users and type checkers look for."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import metadata, requires
from importlib.resources import files
from pathlib import Path

import shapewright

ROOT = Path(__file__).parents[2]
PACKAGE = Path(shapewright.__file__).parent
NAMED = re.compile(r"`([\w./*]+(?:\.(?:py|json|md|css)|/))`")
"""A file or a folder in code marks: `spans.py`, `operators/*/needs.py`, `loops/`."""


def test_types_and_schema_ship_with_the_package() -> None:
    package = files("shapewright")
    assert package.joinpath("py.typed").is_file()
    schema = json.loads(package.joinpath("record/schema.json").read_text("utf-8"))
    assert schema["$schema"].startswith("https://json-schema.org/")


def test_users_install_torch_and_nothing_else() -> None:
    needed = [name for name in requires("shapewright") or [] if "extra ==" not in name]
    assert sorted(needed) == ["torch>=2.6"]
    assert metadata("shapewright")["Requires-Python"] == ">=3.11"


def test_every_development_tool_is_pinned() -> None:
    pins = (ROOT / "constraints" / "dev.txt").read_text().lower().splitlines()
    pinned = {line.partition("==")[0].replace("_", "-") for line in pins}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    asked = {name for group in groups.values() for name in group if type(name) is str}
    assert asked <= pinned
    assert "torch==2.13.0" in pins


def test_the_answers_to_the_twenty_questions_are_where_they_are_said_to_be() -> None:
    text = (ROOT / "tests" / "house" / "where.toml").read_text("utf-8")
    questions = tomllib.loads(text)["questions"]
    assert len(questions) == 20
    answers = [name for question in questions for name in question["new"]]
    assert [name for name in answers if not (PACKAGE / name).is_file()] == []


def test_readmes_and_the_design_name_files_that_exist() -> None:
    pages = [*PACKAGE.rglob("README.md"), ROOT / "docs" / "design.md"]
    missing = [
        f"{page.parent.name}/{page.name}: {name}"
        for page in pages
        for name in NAMED.findall(
            page.read_text("utf-8").partition("## Where it was")[0]
        )
        if not any(
            any(base.glob(name))
            for base in (page.parent, PACKAGE, PACKAGE.parent, ROOT)
        )
    ]
    assert missing == []


def test_each_readme_names_every_file_and_folder_beside_it() -> None:
    missing = []
    for page in PACKAGE.rglob("README.md"):
        named = " ".join(NAMED.findall(page.read_text("utf-8")))
        folder = page.parent
        files = [path.name for path in folder.glob("*.py") if path.stem != "__init__"]
        rooms = [f"{path.parent.name}/" for path in folder.glob("*/__init__.py")]
        wanted = files if folder.name == "operators" else [*files, *rooms]
        lacking = [name for name in wanted if not re.search(rf"\b{name}", named)]
        missing += [f"{folder.name}: {name}" for name in lacking]
    assert missing == []


def test_each_room_has_a_readme_of_at_most_forty_lines() -> None:
    rooms = [path.parent for path in PACKAGE.glob("*/__init__.py")]
    assert [room.name for room in rooms if not (room / "README.md").is_file()] == []
    lengths = {
        str(page.relative_to(PACKAGE)): len(page.read_text("utf-8").splitlines())
        for page in PACKAGE.rglob("README.md")
    }
    assert {page: count for page, count in lengths.items() if count > 40} == {}


def test_the_schema_is_imported_as_the_documentation_says() -> None:
    from shapewright.trace.schema import schema

    assert schema()["$schema"].startswith("https://json-schema.org/")
    assert callable(shapewright.trace)
