"""Weights that an edit may not lose, as the model is then used with what it drew."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name


def has_random_weights(text: SourceText, load: ast.Call, modules: list[str]) -> bool:
    """Return whether these modules, if not loaded, would be used as they are drawn:
    the program evaluates its model, and neither trains nor replaces them behind the
    call that loads.
    """
    names = {module.rpartition(".")[2] for module in modules}
    if not _is_in_evaluation(text, load) and (
        is_trained(text) or not _has_calls(text.nodes, EVALUATING)
    ):
        return False
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or node.lineno <= load.lineno:
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in names:
                return False
    return True


def _is_in_evaluation(text: SourceText, load: ast.Call) -> bool:
    """Return whether the function that loads evaluates its model, and neither trains it
    nor returns it.
    """
    scope = text.around(load, ast.FunctionDef)
    model = load.func.value if isinstance(load.func, ast.Attribute) else None
    if scope is None or model is None:
        return False
    inside = [*ast.walk(scope), *scope.decorator_list]
    names = {text.written(model), get_last_name(model)}
    is_returned = any(
        isinstance(node, ast.Return)
        and node.value is not None
        and any(get_last_name(part) in names for part in ast.walk(node.value))
        for node in inside
    )
    is_own = isinstance(model, ast.Name)
    return (
        is_own
        and not is_returned
        and _has_calls(inside, EVALUATING)
        and not _has_calls(inside, TRAINING)
    )


TRAINING = ("step", "fit", "train_step", "training_step", "backward")
EVALUATING = ("eval", "no_grad", "inference_mode", "generate")


def is_trained(text: SourceText) -> bool:
    """Return whether a program takes a step of an optimizer, or trains in one call."""
    return _has_calls(text.nodes, TRAINING)


def _has_calls(nodes: Iterable[ast.AST], methods: tuple[str, ...]) -> bool:
    """Return whether a part of a program calls one of some methods, or functions of a
    module.
    """
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and get_called_name(node) in methods
        for node in nodes
    )
