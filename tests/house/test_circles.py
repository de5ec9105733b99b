"""No module imports itself, however far round: imports for types and imports inside
functions count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import shapewright

SOURCE = Path(shapewright.__file__).parents[1]


def modules(source: Path, package: str) -> dict[str, Path]:
    """Every module of a package in a folder by its dotted name."""
    found = {}
    for path in source.glob(f"{package}/**/*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a module's own statements name.

    `from package import module` names the module; `from package import function` names
    the package's `__init__`.
    """
    package = name if known[name].stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(known[name].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level]
            base = ".".join(
                [*(above if node.level else ()), *(node.module or "").split()]
            )
            for each in node.names:
                inner = f"{base}.{each.name}"
                yield inner if inner in known else base


def circles(source: Path, package: str) -> list[list[str]]:
    """Circles, the smallest first; none is left when the imports in these are gone."""
    known = modules(source, package)
    graph = {name: {*imported(name, known)} & {*known} - {name} for name in known}
    found = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]  # each one is imported by the next
            found.append(circle[:-1])
            for name in circle:
                graph[name] -= set(circle)
        else:
            return sorted(found, key=len)


def test_there_are_no_circles_of_imports() -> None:
    assert len(modules(SOURCE, "shapewright")) > 100
    told = [" <- ".join([*each, each[0]]) for each in circles(SOURCE, "shapewright")]
    assert not told, "\n".join(["(each is imported by the next)", *told])


def test_circles_are_found_in_functions_for_types_and_by_relative_names(
    tmp_path: Path,
) -> None:
    files = {
        "house/__init__.py": "",
        "house/roof.py": "def build():\n    from house import walls\n",
        "house/walls.py": "if TYPE_CHECKING:\n    from .cellar.stones import Stone\n",
        "house/cellar/__init__.py": "from house.garden import path\n",
        "house/cellar/stones.py": "from ..roof import build\nimport house.garden\n",
        "house/garden.py": "import torch\nfrom torch import nn\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    wanted = {"house.roof", "house.walls", "house.cellar.stones"}
    assert [set(each) for each in circles(tmp_path, "house")] == [wanted]
