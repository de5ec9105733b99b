"""Find random tensors that are plain attributes of a module, which another instance is
to take over by a state dict: it does not hold them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.findings.codes import NOT_A_PARAMETER
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_own_attribute,
    iter_assignments,
)

DRAWS = operators_with("is_random") & operators_with("is_factory")
REPEATED = "manual_seed"
SEEDS = 1
"""Calls of `manual_seed` after which two instances draw different numbers."""


def find_unsaved_tensors(scene: HazardContext) -> Iterator[Finding]:
    """Find random attributes of a class of which one instance loads the state of
    another.
    """
    texts = list(scene.program.own_texts())
    nodes = [node for text in texts for node in text.nodes]
    names = [get_called_name(node) for node in nodes if isinstance(node, ast.Call)]
    if "load_state_dict" not in names or names.count(REPEATED) > SEEDS:
        return
    for text in texts:
        for kind in text.nodes:
            if not isinstance(kind, ast.ClassDef) or not kind.bases:
                continue
            for target, value in _iter_drawn(kind):
                load = _find_load(texts, _list_owners(nodes, kind.name), names)
                if load is None:
                    continue
                loaded_text, call = load
                receiver = get_receiver(call)
                assert receiver is not None
                name = text.written(target)
                message = (
                    f"`{name}` is a plain tensor of random numbers, which no state dict"
                    f" has: `{loaded_text.written(receiver)}` loads the weights that"
                    " were trained with others, and keeps its own"
                )
                statement = text.statement_of(value)
                where = Related(loaded_text.span(call), "the weights are loaded here")
                yield Finding(
                    NOT_A_PARAMETER,
                    "warning",
                    message,
                    text.span(statement),
                    related=(where,),
                )


def _iter_drawn(kind: ast.ClassDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the attributes that `__init__` draws, and that another method reads."""
    methods = [node for node in kind.body if isinstance(node, ast.FunctionDef)]
    first = next((method for method in methods if method.name == "__init__"), None)
    read = {
        get_own_attribute(node)
        for method in methods
        if method is not first
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }
    for target, value in iter_assignments(first):
        if get_own_attribute(target) in read - {""} and _is_draw(value):
            yield target, value


def _is_draw(value: ast.expr) -> bool:
    """Return whether an expression is a tensor of random numbers, scaled perhaps, of
    no generator of its own and without a gradient.
    """
    while isinstance(value, ast.BinOp):
        is_left = isinstance(value.left, ast.Call | ast.BinOp)
        value = value.left if is_left else value.right
    if not isinstance(value, ast.Call) or get_called_name(value) not in DRAWS:
        return False
    words = {word.arg for word in value.keywords}
    return not words & {"generator", "requires_grad"}


def _list_owners(nodes: list[ast.AST], name: str) -> set[str]:
    """Return the names of a class and of those that build one of it."""
    owners = {name}
    kinds = [node for node in nodes if isinstance(node, ast.ClassDef)]
    for _ in kinds:
        more = {
            kind.name
            for kind in kinds
            if any(get_called_name(node) in owners for node in ast.walk(kind))
        }
        if more <= owners:
            break
        owners |= more
    return owners


def _find_load(
    texts: list[SourceText], owners: set[str], names: list[str]
) -> tuple[SourceText, ast.Call] | None:
    """Return the call by which one of several instances of a class loads a state."""
    for text in texts:
        for call in text.nodes:
            if not isinstance(call, ast.Call):
                continue
            receiver = get_receiver(call)
            if get_called_name(call) != "load_state_dict":
                continue
            if not isinstance(receiver, ast.Name):
                continue
            values = find_defining(text, receiver.id)
            built = {get_called_name(value) for value in values} & owners
            if len(values) == 1 and any(names.count(kind) > 1 for kind in built):
                return text, call
    return None
