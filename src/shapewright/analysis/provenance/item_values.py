"""Which statements of a data set give a field of its items its value, or a dim."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names

DELIVERING = "__getitem__"
FIELD = re.compile(r"batch: \[('?)([^\]']+)\1\] is \(")
"""The field of which a finding says that its shapes differ."""
MOST_VALUES = 2
"""Statements that are named: one for each of two items."""
LONGEST = 60
"""Characters of a value that is quoted."""


def describe_field_values(program: Program, finding: Finding) -> list[Related]:
    """Return the statements that set the field of items which do not stack, in the one
    `__getitem__` of the program that has it.
    """
    field = FIELD.search(finding.message)
    if field is None:
        return []
    holders = [
        (text, function, value)
        for text in program.own_texts()
        for _, function in text.functions(DELIVERING)
        if isinstance(function, ast.FunctionDef)
        for value in _list_field_values(function, field[2], bool(field[1]))
    ]
    if len({function for _, function, _ in holders}) != 1:
        return []
    text, function, _ = holders[0]
    values: list[tuple[str, ast.expr]] = []
    for _, _, value in holders:
        if isinstance(value, ast.Name):
            sources = list_last_values(text, function, value)
            values += [(f"`{value.id}`", source) for source in sources]
        elif collect_names(value):
            values.append((f"[{field[1]}{field[2]}{field[1]}]", value))
    if not 0 < len(values) <= MOST_VALUES:
        return []
    return [
        Related(text.span(value), f"{name} is{_quote_value(text, value)}")
        for name, value in values
    ]


def _quote_value(text: SourceText, value: ast.expr) -> str:
    """Return an expression in backquotes, or "set here" for a long one."""
    written = join_lines(text.written(value))
    return f" `{written}`" if len(written) <= LONGEST else " set here"


def _list_field_values(
    function: ast.FunctionDef, field: str, is_key: bool
) -> list[ast.expr]:
    """Return what a function returns in a field of a dict or a tuple."""
    values: list[ast.expr] = []
    for node in ast.walk(function):
        value = node.value if isinstance(node, ast.Return | ast.Assign) else None
        if is_key and isinstance(value, ast.Dict):
            for key, part in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == field:
                    values.append(part)
        elif is_key and isinstance(node, ast.Assign) and node.value is not None:
            target = node.targets[0]
            place = target.slice if isinstance(target, ast.Subscript) else None
            if isinstance(place, ast.Constant) and place.value == field:
                values.append(node.value)
        elif not is_key and isinstance(node, ast.Return):
            parts = value.elts if isinstance(value, ast.Tuple) else []
            if field.isdigit() and int(field) < len(parts):
                values.append(parts[int(field)])
    return values


def list_last_values(
    text: SourceText, function: ast.FunctionDef, name: ast.Name
) -> list[ast.expr]:
    """Return what a variable can be at a place: what it was last set to, and before
    that, where a condition decides; nothing where that is not clear.
    """
    stored = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and node.id == name.id
        and isinstance(node.ctx, ast.Store)
        and node.lineno < name.lineno
        and text.around(node, *FUNCTIONS) is function
    ]
    values: list[ast.expr] = []
    passed: list[ast.AST] = []
    for node in sorted(stored, key=lambda node: node.lineno, reverse=True):
        statement = text.parent(node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        outer = text.parent(statement)
        if outer in passed and statement in _list_branch(outer, passed):
            continue  # set again below in the same branch
        values.append(statement.value)
        if outer is function:
            break
        if not isinstance(outer, ast.If) or text.parent(outer) is not function:
            return []
        if outer in passed:
            break  # both branches set it
        passed += [outer, *_get_branch(outer, statement)]
    return values[::-1]


def _get_branch(condition: ast.If, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements beside one under a condition."""
    return condition.body if statement in condition.body else condition.orelse


def _list_branch(outer: ast.AST | None, passed: list[ast.AST]) -> list[ast.stmt]:
    """Return the branch of a condition that was passed."""
    if not isinstance(outer, ast.If):
        return []
    return outer.body if outer.body[0] in passed else outer.orelse
