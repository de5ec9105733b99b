"""Names of modules and classes: nouns, and each class once."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import shapewright

SOURCE = Path(shapewright.__file__).parent

TERMS = {
    "attention", "broadcasting", "drawing", "embedding", "finding", "formatting",
    "indexing", "joining", "padding", "pooling", "sampling", "training",
}  # fmt: skip
"""Words on -ing or -ed that are nouns, or terms of the field, by themselves."""

TWO_SIDES = {"Meta", "Sample"}
"""Classes that stand twice: one, and the protocol that a lower layer asks of it."""


def test_a_module_is_named_by_a_noun() -> None:
    modules = {path.with_suffix("").name for path in SOURCE.rglob("*.py")}
    folders = {path.parent.name for path in SOURCE.rglob("*.py")}
    odd = {
        name
        for name in modules | folders
        if re.fullmatch(r"[a-z]+(ing|ed)", name) or name.endswith("ed")
    }
    assert odd - TERMS == set()


def test_a_public_class_stands_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in twice.items() if name not in TWO_SIDES} == {}
    assert set(twice) == TWO_SIDES
    protocols = ["operators/metadata_rules.py", "analysis/formulas/call_formulas.py"]
    for name, protocol in zip(sorted(TWO_SIDES), protocols, strict=True):
        tree = ast.parse((SOURCE / protocol).read_text("utf-8"))
        there = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name]
        assert "Protocol" in [ast.unparse(base) for base in there[0].bases]
