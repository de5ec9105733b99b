"""Comparisons that a program asserts: `assert T <= n`, `if h % 8: raise ...`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name


@dataclass(frozen=True, slots=True)
class AssertedComparison:
    """A comparison with an outcome at which the program raises.

    `message` is the text that it raises with, as it stands in the program (``{T}`` in
    it is the program's own), None where there is no literal. `straight` is False where
    another comparison in the same condition may still prevent it. `met` is False where
    the comparison came out so that the program raised.
    """

    kind: str  # the exception's name as written, or `AssertionError`
    message: str | None = None
    straight: bool = True
    met: bool = True


def is_stated(text: SourceText, node: ast.AST) -> bool:
    """Return whether a node is part of a `raise` or an `assert`."""
    kinds = ast.Raise, ast.Assert
    return isinstance(node, kinds) or text.around(node, *kinds) is not None


def find_demand_at(
    text: SourceText, span: Span, operator: str, outcome: bool
) -> tuple[Span, AssertedComparison | None]:
    """Find the comparison at a span, and the assertion that depends on it.

    For a truth test (``if H % 8:``) Python gives the span of the whole statement.
    """
    node = text.node(span)
    is_call = isinstance(node, ast.Call)
    if node is None or (is_call and get_called_name(node) not in TELLING):
        return span, None  # `min(h, w)` compares, but is not what it finds
    tests = _list_tested(node)
    if tests is None:
        now, other = (
            _replace_value(node, operator, value) for value in (outcome, not outcome)
        )
        return span, _find_between(text, node, now, other)
    demands = {_find_between(text, test, outcome, not outcome) for test in tests}
    demand = demands.pop() if len(demands) == 1 else None
    return (
        text.span(tests[0]) if len(tests) == 1 else _get_condition_span(text, node)
    ), demand


def _find_between(
    text: SourceText, node: ast.AST, now: bool | None, other: bool | None
) -> AssertedComparison | None:
    """Return the assertion that depends on an expression whose value was `now`."""
    raised = _follow_upwards(text, node, now)
    if raised is not None and raised.straight:
        return replace(raised, met=False)
    return _follow_upwards(text, node, other)


def _list_tested(node: ast.AST) -> list[ast.expr] | None:
    """Return the expressions whose truth a statement tests; None for a comparison."""
    if isinstance(node, ast.If | ast.While | ast.Assert | ast.IfExp):
        return _list_operands(node.test)
    if isinstance(node, ast.BoolOp | ast.UnaryOp):
        return _list_operands(node)
    return None


def _list_operands(node: ast.expr) -> list[ast.expr]:
    """Return the operands of `and`, `or` and `not` that are not comparisons."""
    if isinstance(node, ast.BoolOp):
        return [operand for value in node.values for operand in _list_operands(value)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _list_operands(node.operand)
    return [] if isinstance(node, ast.Compare) else [node]


def _get_condition_span(text: SourceText, node: ast.expr | ast.stmt) -> Span:
    """Return the span of a statement's condition, or of the whole expression."""
    return text.span(getattr(node, "test", node))


def _replace_value(node: ast.AST, operator: str, value: bool) -> bool | None:
    """Return the value of an expression if a comparison in it has the outcome `value`.

    `a != b` of tuples asks for each pair whether it is equal; `in` asks for one after
    the other. None: it depends on the others.
    """
    if isinstance(node, ast.Call) and get_called_name(node) in ("all", "any"):
        return _is_decided(value, by=get_called_name(node) == "any")
    if not isinstance(node, ast.Compare):
        return value
    last = node.ops[-1] if len(node.ops) == 1 else None
    if isinstance(last, ast.In | ast.NotIn):
        return _is_decided(value, by=True, negated=isinstance(last, ast.NotIn))
    if isinstance(last, ast.NotEq) and operator == "==":
        return not value
    if len(node.ops) == 1:
        return value
    return _is_decided(value, by=False)


def _is_decided(value: bool, by: bool, negated: bool = False) -> bool | None:
    """Return the value of the whole if this operand alone decides it, else None."""
    return value is not negated if value is by else None


def _follow_upwards(
    text: SourceText, node: ast.AST, value: bool | None
) -> AssertedComparison | None:
    """Follow a condition outwards to the statement that acts on it."""
    while (parent := text.parent(node)) is not None:
        if isinstance(parent, ast.BoolOp):
            by = isinstance(parent.op, ast.Or)
            value = None if value is None else _is_decided(value, by)
        elif isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            value = None if value is None else not value
        elif isinstance(parent, ast.Call):
            if _is_check(parent) and parent.args and node is parent.args[0]:
                message = parent.args[1] if len(parent.args) > 1 else None
                return _build_assertion("AssertionError", message, value, False)
            if get_called_name(parent) not in TELLING or node not in parent.args:
                return None
            if get_called_name(parent) != "bool" and value is not None:
                value = _is_decided(value, by=get_called_name(parent) == "any")
        elif isinstance(parent, ast.Assert):
            text_node = parent.msg if node is parent.test else None
            return _build_assertion("AssertionError", text_node, value, False)
        elif isinstance(parent, ast.If):
            return _read_branch(parent, value) if node is parent.test else None
        elif isinstance(parent, ast.GeneratorExp | ast.ListComp):
            if not isinstance(text.parent(parent), ast.Call):
                return None
        elif not isinstance(parent, ast.NamedExpr):
            return None
        node = parent
    return None


def _is_check(call: ast.Call) -> bool:
    """Return whether a call is `torch._assert(...)` or `torch._check(...)`."""
    return get_called_name(call) in ("_assert", "_check")


TELLING = frozenset({"all", "any", "bool", "is_integer"})
"""Functions that return the truth of the comparison passed to them."""


def _read_branch(statement: ast.If, value: bool | None) -> AssertedComparison | None:
    """Return the assertion of an `if` that has a branch beginning with `raise`."""
    for body, taken in ((statement.body, True), (statement.orelse, False)):
        if body and isinstance(body[0], ast.Raise):
            raised = body[0].exc
            error = raised.func if isinstance(raised, ast.Call) else raised
            kind = ast.unparse(error) if error is not None else "raise"
            arguments = raised.args if isinstance(raised, ast.Call) else []
            return _build_assertion(
                kind, arguments[0] if arguments else None, value, taken
            )
    return None


def _build_assertion(
    kind: str, message: ast.expr | None, value: bool | None, on: bool
) -> AssertedComparison | None:
    """Return the assertion, or None if the program does not raise at this value."""
    if value is not None and value is not on:
        return None
    return AssertedComparison(kind, _get_literal(message), value is not None)


def _get_literal(message: ast.expr | None) -> str | None:
    """Return the text of a literal, with the fields of an f-string as written."""
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return message.value
    if not isinstance(message, ast.JoinedStr):
        return None
    parts = [
        f"{{{ast.unparse(part.value)}}}"
        if isinstance(part, ast.FormattedValue)
        else str(part.value if isinstance(part, ast.Constant) else "")
        for part in message.values
    ]
    return "".join(parts)
