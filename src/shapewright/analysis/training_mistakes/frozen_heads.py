"""Find new heads that are frozen with the rest of a model: `model.fc = nn.Linear(...)`
in front of the loop that freezes all parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import NO_GRADIENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_own_attribute,
    iter_assignments,
)

LAYERS = ("Linear", "Conv2d", "Sequential", "LazyLinear")


def find_frozen_heads(scene: RehearsalContext) -> Iterator[Finding]:
    """Find layers that are put into a model just before all of it is frozen."""
    frozen = {
        state.path.rpartition(".")[0]
        for state in scene.program.trace.states
        if not state.fact.requires_grad and state.fact.dtype.startswith("float")
    }
    for text in scene.program.own_texts():
        scopes = [text.tree, *(n for n in text.nodes if isinstance(n, FUNCTIONS))]
        for scope in scopes:
            for target, value in iter_assignments(scope):
                loop = _find_freezing(text, scope, target, value)
                if loop is None:
                    continue
                assert isinstance(target, ast.Attribute)
                if not any(target.attr in path.split(".") for path in frozen):
                    continue
                yield build_finding(
                    NO_GRADIENT,
                    f"`{text.written(target)}` is new, and is frozen with all other"
                    " parameters behind it: nothing trains it",
                    text.span(target),
                    (text.span(loop.iter), "all parameters are frozen here"),
                )


def _find_freezing(
    text: SourceText, scope: ast.AST | None, target: ast.expr, value: ast.expr
) -> ast.For | None:
    """Return the loop below a statement that freezes all parameters of a model which
    has just got a new layer, and of which nothing thaws that layer.
    """
    if not isinstance(target, ast.Attribute) or get_called_name(value) not in LAYERS:
        return None
    model = text.written(target.value)
    if model == "self" or get_own_attribute(target):
        return None
    layer = text.written(target)
    loops = [
        node
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.For)
        and node.lineno > target.lineno
        and text.around(node, *FUNCTIONS) is text.around(target, *FUNCTIONS)
        and isinstance(node.iter, ast.Call)
        and get_called_name(node.iter) == "parameters"
        and _is_setting_flag(node, False)
    ]
    freezing = None
    for loop in loops:
        owner = get_receiver(loop.iter) if isinstance(loop.iter, ast.Call) else None
        if owner is not None and text.written(owner) == model:
            freezing = freezing or loop
    if freezing is None:
        return None
    behind = "\n".join(text.lines[freezing.lineno :])
    return None if layer in behind else freezing


def _is_setting_flag(loop: ast.For, value: bool) -> bool:
    """Return whether all that a loop does is to set `requires_grad`."""
    return len(loop.body) == 1 and any(
        isinstance(target, ast.Attribute)
        and target.attr == "requires_grad"
        and isinstance(flag, ast.Constant)
        and flag.value is value
        for target, flag in iter_assignments(loop)
    )
