"""Numbers in the text of a class that hold for the default of its parameter alone:
`target[..., 20]` beside `classes=20`, where the class is built for 3.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.default_sizes import (
    iter_defaults,
    list_constructor_names,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_own_attribute,
    iter_assignments,
)

FEWEST = 5
"""The smallest default that says which parameter a number stands for."""
FARTHEST = 16
"""How far behind a default an index may stand that counts on from it."""


def suggest_attributes_for_numbers(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `target[..., self.classes]` for `target[..., 20]` where 20 is the default
    of `classes`, which another number was passed for; all such indices of the method at
    once, `21:25` as `self.classes + 1:self.classes + 5`.
    """
    span = program.trace.ops[failure.op].span
    place = program.node(span)
    if place is None:
        return
    text, node = place
    method, owner = text.around(node, *FUNCTIONS), text.around(node, ast.ClassDef)
    if method is None or owner is None or getattr(method, "name", "") == "__init__":
        return
    line = text.statement_of(node)
    for name, attribute, default in _iter_kept_defaults(program, owner):
        if not _is_built_with_another(program, owner, name, default):
            continue
        edits: list[Edit] = []
        shown = ""
        for number in _iter_numbers(text, method, default):
            edits.append(Edit(text.span(number), _count_on(attribute, number, default)))
            index = text.around(number, ast.Subscript, ast.Call)
            if index is not None and not shown and number in [*ast.walk(line)]:
                new = text.written(index).replace(
                    text.written(number), edits[-1].text, 1
                )
                shown = f"`{new}`"
        if shown and any(edit.text == attribute for edit in edits):
            more = len(edits) - 1
            shown += f" and {more} more" if more else ""
            yield Fix("fits", shown, tuple(edits))


def _iter_kept_defaults(
    program: Program, owner: ast.ClassDef
) -> Iterator[tuple[str, str, int]]:
    """Yield the parameters of a class that are whole numbers by default, with the
    attribute that keeps them.
    """
    kept = {
        value.id: get_own_attribute(target)
        for target, value in iter_assignments(owner, unpacked=True)
        if isinstance(value, ast.Name) and get_own_attribute(target)
    }
    for name, default in iter_defaults(program, owner.name):
        if type(default) is int and default >= FEWEST and name in kept:
            yield name, f"self.{kept[name]}", default


def _is_built_with_another(
    program: Program, owner: ast.ClassDef, name: str, default: int
) -> bool:
    """Return whether the program builds a class with something else than a default."""
    names = list_constructor_names(owner)
    at = names.index(name) if name in names else len(names)
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) != owner.name:
                continue
            passed = [word.value for word in call.keywords if word.arg == name]
            passed += call.args[at : at + 1]
            if passed and evaluate_whole_number(passed[0]) != default:
                return True
    return False


def _iter_numbers(
    text: SourceText, method: ast.AST, default: int
) -> Iterator[ast.Constant]:
    """Yield the numbers of a method that are a default, or an index behind it."""
    for node in ast.walk(method):
        if not isinstance(node, ast.Constant) or type(node.value) is not int:
            continue
        is_index = text.around(node, ast.Subscript, ast.Call, ast.stmt)
        far = FARTHEST if isinstance(is_index, ast.Subscript) else 0
        if default <= node.value <= default + far:
            yield node


def _count_on(attribute: str, number: ast.Constant, default: int) -> str:
    """Return a number as one that counts on from an attribute."""
    assert isinstance(number.value, int)
    more = number.value - default
    return f"{attribute} + {more}" if more else attribute
