"""What ships: the files that users and type checkers look for."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import metadata, requires
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]


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
