"""Find classifier-free guidance that goes from the conditional prediction towards the
unconditional one.

The text says it: which of two predictions is the unconditional one, its name says, or
what the model was given for it, such as a class for "no class".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import REVERSED_GUIDANCE, looks_for
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.assigned_values import find_last_value, iter_values
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    list_arguments,
)

SCALE = re.compile(r"guid|cfg|scale|strength|(^|\.)(w|s|omega)$", re.I)
"""How the factor of a guidance is called."""
UNCONDITIONAL = re.compile(
    r"un_?cond|(^|_)(u|unc|null|empty|nocond|no_cond|nocls|no_class|no_label|uncls)(_|$)",
    re.I,
)
CONDITIONAL = re.compile(r"(^|_)(cond\w*|c|text|cls|class|label)(_|$)", re.I)
EMPTY = operators_with("fills_with") | {"full_like", "full"}
"""Calls that make the same condition for all samples."""


@looks_for(REVERSED_GUIDANCE)
def find_reversed_guidance(scene: RehearsalContext) -> Iterator[Finding]:
    """Find guidance whose two predictions are exchanged."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.expr):
                continue
            parts = _get_guidance(text, node) or _get_extrapolation(text, node)
            if parts is None:
                continue
            start, end = parts
            roles = [_find_role(text, side, node) for side in parts]
            if roles == ["conditional", "unconditional"]:
                first, last = text.line_of(start), text.line_of(end)
                yield build_finding(
                    REVERSED_GUIDANCE,
                    f"this starts at the conditional `{first}` and goes towards the"
                    f" unconditional `{last}`, and beyond: the stronger the guidance,"
                    " the less the result has of its condition",
                    text.span(node),
                )


def _get_guidance(text: SourceText, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return `a` and `b` of `a + scale * (b - a)`, or of `torch.lerp(a, b, scale)`."""
    if isinstance(node, ast.Call) and get_called_name(node) == "lerp":
        arguments = list_arguments(node)
        if isinstance(node.func, ast.Attribute) and len(arguments) == 2:
            arguments = [node.func.value, *arguments]
        if len(arguments) == 3 and _is_scale(arguments[2]):
            return arguments[0], arguments[1]
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    for start, product in ((node.left, node.right), (node.right, node.left)):
        pair = _split_product(product)
        if pair is None:
            continue
        for scale, step in (pair, pair[::-1]):
            if not isinstance(step, ast.BinOp) or not isinstance(step.op, ast.Sub):
                continue
            same = text.line_of(step.right) == text.line_of(start)
            if same and _is_scale(scale):
                return start, step.left
    return None


def _get_extrapolation(
    text: SourceText, node: ast.expr
) -> tuple[ast.expr, ast.expr] | None:
    """Return `b` and `a` of `(1 + scale) * a - scale * b`: what it goes away from, and
    towards.
    """
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return None
    left, right = _split_product(node.left), _split_product(node.right)
    if left is None or right is None:
        return None
    for factor, end in (left, left[::-1]):
        for scale, start in (right, right[::-1]):
            written = text.line_of(scale)
            grown = (f"1 + {written}", f"{written} + 1", f"1.0 + {written}")
            if _is_scale(scale) and text.line_of(factor).strip("()") in grown:
                return start, end
    return None


def _split_product(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the two factors of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left, node.right
    return None


def _is_scale(node: ast.expr) -> bool:
    """Return whether an expression is the name of a guidance's scale, as it is."""
    is_name = isinstance(node, ast.Name | ast.Attribute)
    return is_name and SCALE.search(ast.unparse(node)) is not None


def _find_role(text: SourceText, node: ast.expr, place: ast.expr) -> str:
    """Return "conditional", "unconditional" or an empty string for a prediction."""
    by_name = _read_role(node)
    call = _find_call(text, node, place)
    by_call = _read_role_of_call(text, call) if call is not None else ""
    if by_name and by_call and by_name != by_call:
        return ""
    return by_name or by_call


def _read_role(node: ast.expr) -> str:
    """Return the role that the name of a prediction says."""
    name = ""
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = str(node.slice.value)
    if UNCONDITIONAL.search(name):
        return "unconditional"
    return "conditional" if CONDITIONAL.search(name) else ""


def _find_call(text: SourceText, node: ast.expr, place: ast.expr) -> ast.Call | None:
    """Return the call that gave a prediction its value, if it stands in the same
    function above.
    """
    if isinstance(node, ast.Call):
        return node
    last = find_last_value(text, node, place.lineno + 1)
    return last if isinstance(last, ast.Call) else None


def _read_role_of_call(text: SourceText, call: ast.Call) -> str:
    """Return the role of what a model gives: unconditional where its condition is
    empty, conditional where another call of it has an empty one in the same place.
    """
    if _has_empty_condition(text, call):
        return "unconditional"
    scope = text.around(call, *FUNCTIONS)
    for other in text.nodes:
        if (
            isinstance(other, ast.Call)
            and other is not call
            and ast.unparse(other.func) == ast.unparse(call.func)
            and text.around(other, *FUNCTIONS) is scope
            and _has_empty_condition(text, other)
        ):
            first, second = list_arguments(call), list_arguments(other)
            pairs = list(zip(first, second, strict=False))
            same = [ast.unparse(a) == ast.unparse(b) for a, b in pairs]
            if same[:1] == [True] and same.count(False) <= 1:
                return "conditional"
    return ""


def _has_empty_condition(text: SourceText, call: ast.Call) -> bool:
    """Return whether an argument of a call, apart from the first, is no condition."""
    named = [word.value for word in call.keywords if word.arg not in ("mask", None)]
    return any(_is_empty(text, part) for part in [*call.args[1:], *named])


def _is_empty(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is no condition: `None`, `null_label`, zeros."""
    if isinstance(node, ast.Constant):
        return node.value is None
    if get_called_name(node) in EMPTY:
        return True
    name = ast.unparse(node).rpartition(".")[2]
    if isinstance(node, ast.Name | ast.Attribute) and UNCONDITIONAL.search(name):
        return True
    values = [value for value, _ in iter_values(text, node, len(text.lines) + 1)]
    return bool(values) and all(
        get_called_name(value) == "full_like" for value in values
    )
