"""Find statements without an effect: a method of the class that is named and not
called, and a part of a table that is written twice, the first time in vain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import RESULT_DROPPED
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    collect_names,
    get_own_attribute,
)


def find_idle_statements(program: Program) -> Iterator[Finding]:
    """Find `self.init_weights` without parentheses, and `table[:, 0::2]` that the line
    behind it writes again.
    """
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Expr):
                yield from _find_named_method(text, node)
            elif isinstance(node, ast.Assign):
                yield from _find_second_write(text, node)


def _find_named_method(text: SourceText, node: ast.Expr) -> Iterator[Finding]:
    name = get_own_attribute(node.value)
    owner = text.around(node, ast.ClassDef) if name else None
    if owner is None:
        return
    for method in owner.body:
        if not isinstance(method, ast.FunctionDef) or method.name != name:
            continue
        if method.decorator_list:
            return  # a property runs
        written = text.written(node.value)
        yield Finding(
            RESULT_DROPPED,
            "warning",
            f"`{written}` without parentheses calls nothing",
            text.span(node.value),
            related=(Related(text.span(method.body[0]), "this is what it does"),),
        )


def _find_second_write(text: SourceText, node: ast.Assign) -> Iterator[Finding]:
    target = node.targets[0]
    if len(node.targets) != 1 or not _is_part(target):
        return
    above = _get_statement_above(text, node)
    if not isinstance(above, ast.Assign) or len(above.targets) != 1:
        return
    assert isinstance(target, ast.Subscript)
    written = text.written(target)
    if not _is_part(above.targets[0]) or text.written(above.targets[0]) != written:
        return
    names = collect_names(target.value, ast.Load)
    if names & collect_names(node.value, ast.Load):
        return  # it reads what was written
    if any(isinstance(part, ast.Call) for part in ast.walk(target)):
        return
    yield Finding(
        RESULT_DROPPED,
        "warning",
        f"`{written}` is written again: what the line above put there is lost",
        text.span(target),
        related=(Related(text.span(above.targets[0]), "this is lost"),),
    )


def _is_part(node: ast.expr) -> bool:
    """Return whether an expression is several rows or columns of a table."""
    return isinstance(node, ast.Subscript) and any(
        isinstance(part, ast.Slice) for part in ast.walk(node.slice)
    )


def _get_statement_above(text: SourceText, node: ast.stmt) -> ast.stmt | None:
    """Return the statement before a statement in its block, or None."""
    around = text.parent(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(around, name, None)
        if isinstance(block, list) and node in block:
            at = block.index(node)
            return block[at - 1] if at else None
    return None
