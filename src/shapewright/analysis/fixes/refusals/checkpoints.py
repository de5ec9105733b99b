"""Weights that an edit may not lose, as the model is then used with what it drew."""

from __future__ import annotations

import ast

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name


def has_random_weights(text: SourceText, load: ast.Call, modules: list[str]) -> bool:
    """Return whether these modules, if not loaded, would be used as they are drawn:
    the program evaluates its model, and neither trains nor replaces them behind the
    call that loads.
    """
    names = {module.rpartition(".")[2] for module in modules}
    if is_trained(text) or not _has_calls(text, EVALUATING):
        return False
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or node.lineno <= load.lineno:
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in names:
                return False
    return True


TRAINING = ("step", "fit", "train_step", "training_step", "backward")
EVALUATING = ("eval", "no_grad", "inference_mode", "generate")


def is_trained(text: SourceText) -> bool:
    """Return whether a program takes a step of an optimizer, or trains in one call."""
    return _has_calls(text, TRAINING)


def _has_calls(text: SourceText, methods: tuple[str, ...]) -> bool:
    """Return whether a program calls one of some methods, or functions of a module."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and get_called_name(node) in methods
        for node in text.nodes
    )
