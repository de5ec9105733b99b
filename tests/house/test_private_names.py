"""What only its own file uses begins with an underscore."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import shapewright

SOURCE = Path(shapewright.__file__).parents[1]
TESTS = Path(__file__).parents[1]
FILES = [SOURCE / "shapewright_pytest.py", *(SOURCE / "shapewright").rglob("*.py")]

QUIET = {"cache", "contextmanager", "dataclass", "lru_cache", "total_ordering"}
"""Decorators that register nothing; a function with any other is in a registry."""

CALLED_BY_NAME = {
    "shapewright": "functions that IPython calls",
    "shapewright.api": "the functions of the package",
    "shapewright.runtime.operator_calls.map_functions": "`Functions` of index maps",
}
"""Modules whose names somebody reaches by themselves, and who."""

HOOKS = ("pytest_", "add_arguments", "run", "version")
"""What pytest calls, what each command's module has, what the parser asks for."""


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def reached(tree: ast.AST) -> Iterator[str]:
    """`package.module.name` of all that a file imports, or reaches through a module."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                aliases[each.asname or each.name] = each.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                name = f"{node.module}.{each.name}"
                aliases[each.asname or each.name] = name
                yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = dotted(node.value)
            yield f"{aliases.get(owner, owner)}.{node.attr}"
        elif isinstance(node, ast.Call):
            words = [getattr(each, "value", None) for each in node.args]
            if len(words) == 2 and str(words[0]).startswith("shapewright."):
                yield f"{words[0]}.{words[1]}"  # imported later, by these names
        elif isinstance(node, ast.Constant) and str(node.value).isidentifier():
            for module in aliases.values():  # a test may replace it by its name
                yield f"{module}.{node.value}"


def dotted(node: ast.expr) -> str:
    """`a.b` of such an expression, else nothing."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def is_registered(node: ast.FunctionDef | ast.ClassDef) -> bool:
    names = [ast.unparse(each).partition("(")[0] for each in node.decorator_list]
    return any(name.rpartition(".")[2] not in QUIET for name in names)


def public_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith("_") and not is_registered(node):
            yield node.name


def test_what_only_its_own_file_uses_is_private() -> None:
    trees = {path: ast.parse(path.read_text("utf-8")) for path in FILES}
    corpora = {"programs", "scripts"}
    others = [p for p in TESTS.rglob("*.py") if not corpora.intersection(p.parts)]
    used: dict[str, set[Path]] = {}
    for path in [*FILES, *others]:
        for name in reached(trees.get(path) or ast.parse(path.read_text("utf-8"))):
            used.setdefault(name, set()).add(path)
    found = [
        f"{module_of(path)}.{name}"
        for path, tree in trees.items()
        if module_of(path) not in CALLED_BY_NAME
        and not module_of(path).startswith("shapewright.runtime.absent.stand_ins")
        for name in public_names(tree)
        if not name.startswith(HOOKS)
        and not used.get(f"{module_of(path)}.{name}", set()) - {path}
    ]
    assert found == []


def test_a_registered_function_and_one_that_is_imported_are_left_alone() -> None:
    text = "@rule('x')\ndef one(): ...\n\n@cache\ndef two(): ...\ndef _three(): ...\n"
    assert list(public_names(ast.parse(text))) == ["two"]
    text = "from a.b import c\nfrom a import b as d\nd.e()\nsetattr(d, 'f', 1)"
    assert {"a.b.c", "a.b.e", "a.b.f"} <= set(reached(ast.parse(text)))
