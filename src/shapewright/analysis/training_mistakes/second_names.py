"""Find networks that were built apart, as a model and its target, of which one becomes
a second name of the other: `target = model`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.reversed_updates import (
    is_in_training,
    iter_trained,
    read_load,
)
from shapewright.findings.codes import MODEL_NOT_COPIED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    iter_assignments,
)


def find_models_named_twice(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `target = model` in a training, where the name stands for another model that
    was built for itself.
    """
    for text in scene.program.own_texts():
        trained = set(iter_trained(text)) if "backward" in text.text else set()
        for node in text.nodes if trained else ():
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            name, model = get_dotted_name(node.targets[0]), get_dotted_name(node.value)
            if model not in trained or not name or name in trained or name == model:
                continue
            built = _find_built(text, node, name)
            if built is None or _is_exchanged(text, node, name, model):
                continue
            if not is_in_training(text, node.value) and not _is_in_update(
                text, node, name, model
            ):
                continue
            yield build_finding(
                MODEL_NOT_COPIED,
                f"`{name}` is the same model as `{model}` from here on, not a copy of"
                " it: each step changes both",
                text.span(node),
                (text.span(built), f"`{name}` is a model of its own until then"),
            )


def _find_built(text: SourceText, node: ast.Assign, name: str) -> ast.expr | None:
    """Return the call that builds the model of a name, of the same class for an
    attribute of `self`, or None.
    """
    is_own = name.startswith("self.")
    scope = text.around(node, ast.ClassDef) if is_own else text.tree
    for target, value in iter_assignments(scope):
        if isinstance(value, ast.Call) and get_dotted_name(target) == name:
            return value
    return None


def _is_in_update(text: SourceText, node: ast.Assign, name: str, model: str) -> bool:
    """Return whether a statement stands in a function that updates a model which was
    built elsewhere: it also loads the state of the other one, or steps, or is called by
    what does; or stands beside a load of the same pair.
    """
    function = text.around(node, *FUNCTIONS)
    loads = [
        other
        for other in text.nodes
        if read_load(other) == (name, model)
        and text.around(other, ast.ClassDef) is text.around(node, ast.ClassDef)
    ]
    beside = [
        other for other in loads
        if isinstance(other, ast.expr)
        and text.parent(text.statement_of(other)) is text.parent(node)
    ]  # fmt: skip
    if beside:
        return True
    if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
        return False
    if not name.startswith("self.") and not any(
        isinstance(part, ast.Global) and name in part.names
        for part in ast.walk(function)
    ):
        return False  # the name is one of this function only
    if _is_by_choice(text, node, function):
        return False
    if any(
        text.around(built, *FUNCTIONS) is function for built in _list_built(text, name)
    ):
        return False
    return bool(loads) or _is_stepping(text, function)


def _list_built(text: SourceText, name: str) -> list[ast.expr]:
    """Return what a name is set to by calls."""
    return [
        value
        for target, value in iter_assignments(text.tree)
        if isinstance(value, ast.Call) and get_dotted_name(target) == name
    ]


def _is_stepping(text: SourceText, function: ast.FunctionDef) -> bool:
    """Return whether a function steps an optimizer, or is called where one is stepped:
    in a function or a loop that steps.
    """
    if _has_backward(function):
        return True
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_last_name(node.func) == function.name:
            outer = text.around(node, ast.For, ast.While, ast.FunctionDef)
            if outer is not None and outer is not function and _has_backward(outer):
                return True
    return False


def _has_backward(scope: ast.AST) -> bool:
    """Return whether a loop or a function has a backward pass."""
    return any(
        isinstance(node, ast.Call) and get_called_name(node) == "backward"
        for node in ast.walk(scope)
    )


def _is_by_choice(text: SourceText, node: ast.Assign, function: ast.AST) -> bool:
    """Return whether a statement stands under a condition that is no count of steps: a
    setting may say that two models are one.
    """
    for outer in text.outwards(node):
        if outer is function:
            return False
        if isinstance(outer, ast.If) and not any(
            isinstance(part, ast.Mod | ast.Gt | ast.GtE | ast.Eq)
            for part in ast.walk(outer.test)
        ):
            return True
    return False


def _is_exchanged(text: SourceText, node: ast.Assign, name: str, model: str) -> bool:
    """Return whether a model gets another value in the function or loop around: it was
    kept under the other name, or two of them are exchanged; or the other branch of a
    condition copies it.
    """
    scope = text.around(node, *FUNCTIONS) or text.tree
    for target, _ in iter_assignments(scope, unpacked=True):
        if get_dotted_name(target) == model and target.lineno > node.lineno:
            return True
    parent = text.parent(node)
    if isinstance(parent, ast.If) and parent.orelse:
        other = parent.orelse if node in parent.body else parent.body
        return any(
            read_load(part) == (name, model)
            or (
                isinstance(part, ast.Assign)
                and name in [get_dotted_name(target) for target in part.targets]
            )
            for statement in other
            for part in ast.walk(statement)
        )
    return False
