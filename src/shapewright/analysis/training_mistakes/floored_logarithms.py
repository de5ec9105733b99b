"""Find exponents whose logarithm a floor division rounds: `exp(-log(1e4) / d // 2)`,
where `/ (d // 2)` was meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    list_reads,
)

LOGARITHMS = frozenset({"log", "log2", "log10"})


def iter_floored_logarithms(text: SourceText) -> Iterator[ast.BinOp]:
    """Yield the floor divisions of a logarithm, or of a quotient of one, that are a
    factor of what `exp` is given.
    """
    for node in text.nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
            continue
        quotient = get_floored_quotient(node)
        top = quotient.left if quotient is not None else node.left
        below = quotient.right if quotient is not None else node.right
        if not _is_logarithm(top) or _has_logarithm(below):
            continue
        if _has_logarithm(node.right) or isinstance(below, ast.Constant):
            continue
        if any(_is_exponent(text, use) for use in (node, *_list_uses(text, node))):
            yield node


def get_floored_quotient(node: ast.BinOp) -> ast.BinOp | None:
    """Return `a / b` of `a / b // c`, or None where nothing is divided before."""
    left = node.left
    is_quotient = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div)
    return left if is_quotient and isinstance(left, ast.BinOp) else None


def _is_logarithm(node: ast.expr) -> bool:
    """Return whether an expression is a logarithm, perhaps times a number."""
    if isinstance(node, ast.UnaryOp):
        return _is_logarithm(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_logarithm(node.left) or _is_logarithm(node.right)
    return get_called_name(node) in LOGARITHMS


def _has_logarithm(node: ast.expr) -> bool:
    """Return whether an expression has a logarithm in it, as that of another base."""
    return any(get_called_name(part) in LOGARITHMS for part in ast.walk(node))


def _list_uses(text: SourceText, node: ast.expr) -> list[ast.Name]:
    """Return the reads of the name that a statement gives to a quotient."""
    statement = text.statement_of(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    scope = text.around(statement, ast.FunctionDef) or text.tree
    is_whole = isinstance(target, ast.Name) and _is_factor(text, node, statement)
    return list_reads(scope, get_last_name(target)) if is_whole else []


def _is_exponent(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is a factor of what `exp` is given."""
    for above in text.outwards(node):
        if get_called_name(above) == "exp":
            return isinstance(above, ast.Call) and _is_factor(text, node, above)
    return False


def _is_factor(text: SourceText, node: ast.expr, whole: ast.AST) -> bool:
    """Return whether only products and signs stand between an expression and what holds
    it.
    """
    for above in text.outwards(node):
        if above is whole:
            return True
        is_product = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult)
        if not is_product and not isinstance(above, ast.UnaryOp):
            return False
    return False
