"""Find numbers of classes that follow the order of a set: it is another one in each
run, and may be another one for each part of the data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import CLASSES_BY_TEXT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

LASTING = ("save", "load_state_dict", "save_pretrained", "dump")


def find_set_orders(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `list(set(labels))` of names, numbered by `enumerate` or `index`, in a data
    set that is built twice or a program that saves its model.
    """
    texts = list(scene.program.own_texts())
    words = [get_called_name(node) for text in texts for node in text.nodes]
    for text in texts:
        for node in text.nodes:
            if not _is_listed_set(node):
                continue
            assert isinstance(node, ast.Call)
            owner = text.around(node, ast.ClassDef)
            is_lasting = any(word in LASTING for word in words)
            is_twice = owner is not None and words.count(owner.name) > 1
            statement = text.statement_of(node)
            if not isinstance(statement, ast.Assign) or not (is_lasting or is_twice):
                continue
            name = text.written(statement.targets[0])
            if not _is_numbered(text, name):
                continue
            when = "each run" if not is_twice else "each run, for each part of the data"
            yield build_finding(
                CLASSES_BY_TEXT,
                f"`{text.written(node)}` has the order of a set, which of names is"
                f" another one in {when}: the numbers of the classes change with it",
                text.span(node),
            )


def _is_listed_set(node: ast.AST) -> bool:
    """Return whether a node is `list(set(names))`."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "list":
        return False
    inner = node.args[0] if len(node.args) == 1 else None
    return inner is not None and get_called_name(inner) == "set"


def _is_numbered(text: SourceText, name: str) -> bool:
    """Return whether names get numbers by their places in a list."""
    for node in text.nodes:
        if not isinstance(node, ast.Call):
            continue
        called = get_called_name(node)
        if called == "enumerate" and node.args and text.written(node.args[0]) == name:
            return True
        func = node.func
        is_place = called == "index" and isinstance(func, ast.Attribute)
        if is_place and text.written(func.value) == name:  # type: ignore[attr-defined]
            return True
    return False
