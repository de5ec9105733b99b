"""Attributes and names of the program's own classes that are not there: a layer that
the constructor keeps under another name, in a local name, or that is read without
`self`.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_own_attribute,
    iter_assignments,
    iter_own_nodes,
)

NO_ATTRIBUTE = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
NO_NAME = re.compile(r"name '(\w+)' is not defined")
WITHOUT_SELF = re.compile(
    r"(\w+)\.(\w+)\(\) takes (\d+) positional arguments? but (\d+)"
)
SELF = "self"


def find_own_attribute(program: Program, finding: Finding) -> Explanation | None:
    """Return which attribute of an own class was meant, or None."""
    place, words = program.node(finding.span), finding.words
    if place is None:
        return None
    missing, name = NO_ATTRIBUTE.search(words), NO_NAME.search(words)
    without = WITHOUT_SELF.search(words)
    if missing is not None:
        return _explain_attribute(program, *place, missing[1], missing[2])
    if name is not None:
        return _explain_name(*place, name[1])
    if without is not None and int(without[4]) == int(without[3]) + 1:
        return _explain_method(program, without[1], without[2])
    return None


def _explain_attribute(
    program: Program, text: SourceText, node: ast.AST, kind: str, name: str
) -> Explanation | None:
    """Explain `self.fc1` of a class that keeps it in a local name, or `self.fc3` where
    one other layer is read by nothing.
    """
    owner = text.around(node, ast.ClassDef)
    read = next((n for n in ast.walk(node) if get_own_attribute(n) == name), None)
    if owner is None or owner.name != kind or not isinstance(read, ast.Attribute):
        return None
    constructor = _find_method(owner, "__init__")
    if constructor is None or _is_set(owner, name):
        return None
    for target, value in iter_assignments(constructor):
        if isinstance(target, ast.Name) and target.id == name:
            message = (
                f"`self.{name}` is not set: `{name} = {text.line_of(value)}` is a name"
                " of the constructor alone"
            )
            related = (Related(text.span(target), "`self.` is missing here"),)
            edit = Edit(text.span(target).start, "self.")
            fix = Fix("fits", f"`self.{name} = {text.line_of(value)}`", (edit,))
            return Explanation(message, related, (fix,))
    unread = _list_unread_layers(program, owner, constructor)
    if len(unread) != 1:
        return None
    other, target = unread[0]
    message = (
        f"`self.{name}` is not set: the constructor builds `self.{other}`, which"
        " nothing reads"
    )
    related = (Related(text.span(target), f"`self.{other}` is set here"),)
    fix = Fix("fits", f"`self.{other}`", (Edit(text.span(read), f"self.{other}"),))
    return Explanation(message, related, (fix,))


def _find_method(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return a method of a class."""
    for part in owner.body:
        if isinstance(part, ast.FunctionDef) and part.name == name:
            return part
    return None


def _is_set(owner: ast.ClassDef, name: str) -> bool:
    """Return whether a class sets an attribute anywhere."""
    return any(
        get_own_attribute(node) == name
        and isinstance(getattr(node, "ctx", None), ast.Store)
        for node in ast.walk(owner)
    )


def _list_unread_layers(
    program: Program, owner: ast.ClassDef, method: ast.FunctionDef
) -> list[tuple[str, ast.expr]]:
    """Return the attributes that a constructor sets to what is built, and that no text
    of the program reads.
    """
    within = set(ast.walk(owner))
    read = {
        node.attr
        for own in program.own_texts()
        for node in own.nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and (node in within or not get_own_attribute(node))
    }
    return [
        (name, target)
        for target, value in iter_assignments(method)
        if (name := get_own_attribute(target))
        and isinstance(value, ast.Call)
        and name not in read
    ]


def _explain_name(text: SourceText, node: ast.AST, name: str) -> Explanation | None:
    """Explain `fc1(x)` in a class that has `self.fc1`."""
    owner = text.around(node, ast.ClassDef)
    method = text.around(node, ast.FunctionDef)
    if owner is None or method is None or not _is_set(owner, name):
        return None
    arguments = [argument.arg for argument in method.args.args]
    read = next(
        (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name), None
    )
    if read is None or arguments[:1] != [SELF]:
        return None
    message = f"`{name}` is an attribute, `self.{name}`, and no name of the method"
    span = text.span(read)
    fix = Fix("fits", f"`self.{name}`", (Edit(span.start, "self."),))
    return Explanation(message, (), (fix,))


def _explain_method(program: Program, kind: str, name: str) -> Explanation | None:
    """Explain `def forward(x)`, a method without `self`."""
    for text in program.own_texts():
        for _, owner in text.definitions(kind):
            method = (
                _find_method(owner, name) if isinstance(owner, ast.ClassDef) else None
            )
            if method is None or method.decorator_list:
                continue
            first = method.args.args[0] if method.args.args else None
            reads = any(
                isinstance(part, ast.Name) and part.id == SELF
                for part in iter_own_nodes(method)
            )
            if first is None or first.arg == SELF or not reads:
                continue
            message = f"`{kind}.{name}` has no `self`, which Python hands it first"
            words = [argument.arg for argument in method.args.args]
            new = f"def {name}({', '.join([SELF, *words])})"
            column = text.column(first.lineno, first.col_offset)
            at = Span(text.file, first.lineno, column, first.lineno, column)
            fix = Fix("fits", f"`{new}`", (Edit(at, f"{SELF}, "),))
            return Explanation(message, (), (fix,))
    return None
