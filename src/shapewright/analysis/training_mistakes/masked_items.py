"""Find data sets that cut random parts out of what they store: of arrays, and of
tensors where what is written does not depend on what was there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import RehearsalContext
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import Function, SourceText, find_defining
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_own_attribute,
    iter_assignments,
)

DRAWS = operators_with("is_random") | {"randrange", "uniform", "choice", "integers"}
"""Functions that draw numbers, of torch, NumPy and Python."""


def find_masked_items(
    scene: RehearsalContext,
) -> Iterator[tuple[SourceText, ast.stmt, ast.expr]]:
    """Yield statements of `__getitem__` that write into a part of a stored item, with
    the expression that took it: `x = self.data[i]`.
    """
    for text in scene.program.own_texts():
        if _has_workers(text):
            continue
        for _, function in text.functions("__getitem__"):
            for name, taken in iter_taken(function):
                is_array = _is_array(text, taken)
                if not is_array and not _is_view(scene, text, taken):
                    continue
                write = _find_write(function, name, is_array)
                if write is not None and _is_returned(function, name):
                    yield text, write, taken


def iter_taken(function: Function) -> Iterator[tuple[str, ast.Subscript]]:
    """Yield the names that are given once, and to an item that an object stores."""
    pairs = list(iter_assignments(function))
    for target, value in pairs:
        is_item = isinstance(value, ast.Subscript) and get_own_attribute(value.value)
        if not isinstance(target, ast.Name) or not is_item:
            continue
        names = [other for other, _ in pairs if isinstance(other, ast.Name)]
        is_once = [other.id for other in names].count(target.id) == 1
        if is_once and isinstance(value, ast.Subscript):
            yield target.id, value


def get_written_name(statement: ast.stmt) -> str:
    """Return the name of what a statement writes a part of, or an empty string."""
    target = None
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        if not isinstance(target, ast.Subscript):
            return ""
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call: ast.expr = statement.value
        while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr.endswith("_"):
                target = call.func.value
            call = call.func.value
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _has_workers(text: SourceText) -> bool:
    """Return whether a loader of a file has workers, which write into a copy."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "num_workers"
        and not (isinstance(node.value, ast.Constant) and node.value.value == 0)
        for node in text.nodes
    )


def _is_array(text: SourceText, taken: ast.Subscript) -> bool:
    """Return whether a row is taken of an array of NumPy, as a view."""
    name = get_own_attribute(taken.value)
    owner = text.around(taken, ast.ClassDef) or text.tree
    makers = [
        value
        for target, value in iter_assignments(owner, unpacked=True)
        if get_own_attribute(target) == name
    ]
    return bool(makers) and all(_is_made_as_array(text, maker) for maker in makers)


ARRAYS = ("astype", "to_numpy", "numpy")
"""Methods that give arrays."""
GENERATORS = re.compile(r"np\.random\.(default_rng|RandomState)\(")


def _is_made_as_array(text: SourceText, maker: ast.expr) -> bool:
    """Return whether an expression is a call of NumPy, of a generator of its random
    numbers, or of what turns something into an array.
    """
    if not isinstance(maker, ast.Call):
        return False
    if get_called_name(maker) in ARRAYS:
        return True
    owner = maker.func.value if isinstance(maker.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and owner.id != "np":
        drawn = find_defining(text, owner.id)
        return bool(drawn) and all(GENERATORS.match(text.written(d)) for d in drawn)
    return text.written(maker.func).startswith("np.")


def _is_view(scene: RehearsalContext, text: SourceText, taken: ast.Subscript) -> bool:
    """Return whether a row was taken of a tensor as a view."""
    span = text.span(taken)
    ops = [op for op in scene.program.trace.ops if op.span == span and op.inputs]
    return bool(ops) and all(op.kind == "view" for op in ops)


def _find_write(function: Function, name: str, is_array: bool) -> ast.stmt | None:
    """Return the first statement that writes a drawn part of an item, or that changes
    an array by what it holds.
    """
    drawn = _collect_drawn(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.stmt) or get_written_name(node) != name:
            continue
        if isinstance(node, ast.AugAssign):
            if is_array:
                return node
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node
        has_draw = any(
            isinstance(part, ast.Call) and get_called_name(part) in DRAWS
            for part in ast.walk(target)
        )
        if has_draw or collect_names(target, ast.Load) & drawn - {name}:
            return node
    return None


def _collect_drawn(function: Function) -> set[str]:
    """Return the names that are drawn, or computed of what is drawn."""
    drawn: set[str] = set()
    for _ in range(2):
        for target, value in iter_assignments(function):
            is_draw = any(
                isinstance(part, ast.Call) and get_called_name(part) in DRAWS
                for part in ast.walk(value)
            )
            if is_draw or collect_names(value, ast.Load) & drawn:
                drawn |= collect_names(target, ast.Store)
    return drawn


def _is_returned(function: Function, name: str) -> bool:
    """Return whether a function returns what a name stands for."""
    return any(
        isinstance(node, ast.Return)
        and node.value is not None
        and name in collect_names(node.value, ast.Load)
        for node in ast.walk(function)
    )
