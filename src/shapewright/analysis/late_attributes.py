"""Attributes that a constructor sets after a method has read them, and those that it
sets twice.

A scheduler's `super().__init__()` already calls `get_lr`: what that reads has to be set
before. A layer under the name of the number that it is built with hides the number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_lines, write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_own_attribute

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


def find_overwritten_attribute(
    program: Program, finding: Finding
) -> Explanation | None:
    """Return which layer a constructor puts under the name of a number that it reads
    again below: `self.patches = Rearrange(..., h=self.patches)`.
    """
    place = program.node(finding.span)
    classes = set(re.findall(r"\b[A-Z]\w+", finding.words))
    if place is None or not classes:
        return None
    text = place[0]
    for function in text.nodes:
        if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
            continue
        for name, number, layer in _iter_overwritten(function):
            kind = get_called_name(layer.value)
            reads = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and get_own_attribute(node) == name
                and node.lineno > (layer.end_lineno or layer.lineno)
                and not _is_called(text, node)
            ]
            if kind not in classes or not reads:
                continue
            old = text.written(number.value)
            message = (
                f"`self.{name}` is the layer `{kind}` from line {layer.lineno} on: the"
                f" number that it was, `{old}`, is read again at line"
                f" {reads[0].lineno}"
            )
            edits = tuple(Edit(text.span(node), old) for node in reads)
            related = (
                Related(text.span(layer), f"`self.{name}` becomes a layer here"),
                Related(text.span(reads[0]), "the number is meant here"),
            )
            words = f"`{old}` for `self.{name}`"
            return Explanation(message, related, (Fix("fits", words, edits),))
    return None


def _iter_overwritten(
    function: ast.FunctionDef,
) -> Iterator[tuple[str, ast.Assign, ast.Assign]]:
    """Yield the attributes to which a constructor gives a number or an argument, and
    then a layer.
    """
    plain: dict[str, ast.Assign] = {}
    for statement in function.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        name = get_own_attribute(statement.targets[0])
        if not name:
            continue
        if isinstance(statement.value, ast.Name | ast.Constant):
            plain[name] = statement
        elif isinstance(statement.value, ast.Call) and name in plain:
            yield name, plain[name], statement


def _is_called(text: SourceText, node: ast.AST) -> bool:
    """Return whether an attribute is called, as a layer is."""
    around = text.parent(node)
    return isinstance(around, ast.Call) and around.func is node
