"""Which parameters of a kernel of triton it writes into, read from its text."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

WRITERS = ("store", "atomic_")
"""Operators of ``triton.language`` that write, by how their names begin."""
READERS = ("load", "atomic_")


def find_outputs(kernel: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters in whose memory a kernel stores.

    Example: ``tl.store(out_ptr + places, x)`` stores in ``out_ptr``. A name that is
    assigned stands for all that is in its value, without what is loaded. Kernels whose
    text is not there, and functions that a kernel calls, store nothing here.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kernel)))
    except (OSError, SyntaxError, TypeError):
        return frozenset()
    sources: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = _list_names(node.value) if node.value is not None else set()
            for target in targets:
                for name in _list_names(target):
                    sources.setdefault(name, set()).update(names)
    reached: set[str] = set()
    waiting = [name for pointer in _list_pointers(tree) for name in pointer]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += sources.get(name, ())
    return frozenset(reached & set(inspect.signature(kernel).parameters))


def _list_pointers(tree: ast.AST) -> list[set[str]]:
    """Return the names in the first argument of each call that writes."""
    return [
        _list_names(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _name_operator(node).startswith(WRITERS)
        and node.args
    ]


def _name_operator(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _list_names(node: ast.AST) -> set[str]:
    """Return the names in an expression, without what it loads."""
    if isinstance(node, ast.Call) and _name_operator(node).startswith(READERS):
        return set()
    if isinstance(node, ast.Name):
        return {node.id}
    names: set[str] = set()
    for child in ast.iter_child_nodes(node):
        names |= _list_names(child)
    return names
