"""Attributes that a constructor sets after a method has read them.

A scheduler's `super().__init__()` already calls `get_lr`: what that reads has to be set
before.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.statements import cut_lines, write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_own_attribute

NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def find_late_attribute(program: Program, finding: Finding) -> Explanation | None:
    """Return why an attribute is not there yet: the constructor of a base class calls a
    method that reads what the own constructor sets only afterwards.
    """
    place = program.node(finding.span)
    missing = NO_ATTRIBUTE.search(finding.words)
    if place is None or missing is None:
        return None
    text, (class_name, attribute) = place[0], missing.groups()
    lines = {place.span.line for place in finding.related if place.span is not None}
    for owner in text.nodes:
        if not isinstance(owner, ast.ClassDef) or owner.name != class_name:
            continue
        for function in owner.body:
            if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
                continue
            return _explain_constructor(text, function, attribute, lines)
    return None


def _explain_constructor(
    text: SourceText, function: ast.FunctionDef, attribute: str, lines: set[int]
) -> Explanation | None:
    """Return the explanation if a constructor sets an attribute below the call of the
    base class's constructor, which is among the lines that ran.
    """
    own = [
        statement
        for statement in function.body
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and any(get_own_attribute(part) for part in _get_targets(statement))
    ]
    late = [
        statement
        for statement in own
        if any(get_own_attribute(p) == attribute for p in _get_targets(statement))
    ]
    for base in function.body:
        if not isinstance(base, ast.Expr) or base.lineno not in lines:
            continue
        if "__init__(" not in text.written(base.value) or not late:
            continue
        if late[0].lineno < base.lineno:
            continue
        message = (
            f"the constructor of the base class, called at line {base.lineno}, already"
            f" reads `self.{attribute}`: it is set only at line {late[0].lineno}"
        )
        moved = text.written(base)
        edits = (cut_lines(text, base), write_after(text, own[-1], moved))
        fix = Fix("fits", f"`{moved}` below `{text.line_of(own[-1])}`", edits)
        where = Related(text.span(late[0]), f"`self.{attribute}` is set here")
        return Explanation(message, (where,), (fix,))
    return None


def _get_targets(statement: ast.stmt) -> list[ast.expr]:
    """Return what a statement assigns to."""
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, ast.AnnAssign | ast.AugAssign):
        return [statement.target]
    return []
