"""Find layers that are frozen and then set to train again with all others: a loop that
groups the parameters for an optimizer sets `requires_grad = True` on each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import FLAG_WITHOUT_EFFECT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
)

PARAMETERS = ("parameters", "named_parameters")
FLAG = "requires_grad"
TRAINING = ("backward", "step", "fit", "train")
"""Parts of names of calls behind which a flag is set for another phase."""


def find_undone_flags(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `p.requires_grad = True` for all parameters of a model of which some have
    just been frozen.
    """
    for text in scene.program.own_texts():
        flags = [
            (node, *place)
            for node in text.nodes
            if isinstance(node, ast.stmt) and (place := _find_flag(node))
        ]
        for node, owner, value in flags:
            model = _find_whole_model(text, node, owner)
            if value is not True or not model:
                continue
            earlier = [
                other
                for other, part, flag in flags
                if flag is False
                and other.lineno < node.lineno
                and _is_beside(text, other, node)
                and _is_part(text, other, part, model)
            ]
            if not earlier or _is_trained_between(text, earlier[-1], node):
                continue
            yield build_finding(
                FLAG_WITHOUT_EFFECT,
                f"`{text.line_of(node)}` sets all parameters of `{model}` to train"
                f" again: `{text.line_of(earlier[-1])}` at line {earlier[-1].lineno}"
                " freezes nothing",
                text.span(node),
                (text.span(earlier[-1]), "they are frozen here"),
            )


def _find_flag(node: ast.AST) -> tuple[ast.expr, bool] | None:
    """Return what a statement freezes or sets to train, and which of the two:
    `p.requires_grad = False`, `model.body.requires_grad_(False)`.
    """
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        is_flag = isinstance(target, ast.Attribute) and target.attr == FLAG
        if is_flag and isinstance(value, ast.Constant) and type(value.value) is bool:
            assert isinstance(target, ast.Attribute)
            return target.value, value.value
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or get_called_name(call) != f"{FLAG}_":
        return None
    owner = get_receiver(call)
    flag = call.args[0] if call.args else None
    if owner is None or (flag is not None and not isinstance(flag, ast.Constant)):
        return None
    return owner, bool(flag.value) if isinstance(flag, ast.Constant) else True


def _find_whole_model(text: SourceText, node: ast.AST, owner: ast.expr) -> str:
    """Return the model of which a statement sets the flag of every parameter, or an
    empty text: in a loop over them, on the model itself.
    """
    loop = text.parent(node)
    if not isinstance(loop, ast.For) or node not in loop.body:
        is_model = isinstance(owner, ast.Name) and isinstance(node, ast.Expr)
        return text.written(owner) if is_model else ""
    if get_last_name(owner) not in collect_names(loop.target):
        return ""
    model = get_receiver(loop.iter) if isinstance(loop.iter, ast.Call) else None
    if model is None or get_called_name(loop.iter) not in PARAMETERS:
        return ""
    return text.written(model)


def _is_part(text: SourceText, node: ast.AST, owner: ast.expr, model: str) -> bool:
    """Return whether a statement sets the flags of some of a model's parameters."""
    loops = [outer for outer in text.outwards(node) if isinstance(outer, ast.For)]
    sources = [text.written(outer.iter) for outer in loops] or [text.written(owner)]
    whole = {f"{model}.{name}()" for name in PARAMETERS}
    is_some = any(isinstance(outer, ast.If) for outer in text.outwards(node))
    return any(
        source.startswith(f"{model}.") and (is_some or source not in whole)
        for source in sources
    )


def _is_beside(text: SourceText, first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether two statements run one after the other, each time."""
    scope = text.around(second, *FUNCTIONS)
    if text.around(first, *FUNCTIONS) is not scope:
        return False
    inside = [
        node
        for node in text.outwards(second)
        if isinstance(node, ast.If | ast.While | ast.For)
        and text.around(node, *FUNCTIONS) is scope
    ]
    own = text.parent(second)
    outer = [node for node in inside if node is not own]
    return all(node in list(text.outwards(first)) for node in outer)


def _is_trained_between(text: SourceText, first: ast.stmt, second: ast.stmt) -> bool:
    """Return whether a training runs between two lines."""
    return any(
        isinstance(node, ast.Call)
        and first.lineno < node.lineno < second.lineno
        and any(name in get_called_name(node).lower() for name in TRAINING)
        for node in text.nodes
    )
