"""The expressions of the tensors in a list, which has no methods of a tensor: what is
appended to it, or what a comprehension collects.
"""

from __future__ import annotations

import ast

from shapewright.program.assigned_values import find_last_item
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

DEPTH = 3
"""How many names and functions are followed from a list."""


def collect_listed(
    text: SourceText, argument: ast.expr, depth: int = DEPTH
) -> list[ast.expr]:
    """Return the expressions whose values a list holds: those that the file appends,
    those of a comprehension or a display, also where a name or a function of the file
    gives the list.
    """
    listed = _get_elements(argument)
    if listed or depth == 0:
        return listed
    if not get_dotted_name(argument):
        return []
    kept = _collect_kept(text, argument)
    item = find_last_item(text, argument, argument.lineno)
    if kept or item is None:
        return kept
    value, place = item
    if not isinstance(value, ast.Call):
        return collect_listed(text, value, depth - 1) if place is None else []
    functions = [f for _, f in text.functions(get_called_name(value))]
    for node in ast.walk(functions[0]) if len(functions) == 1 else ():
        result = node.value if isinstance(node, ast.Return) else None
        if isinstance(result, ast.Tuple) and place is not None:
            result = result.elts[place] if place < len(result.elts) else None
        if result is not None:
            kept += collect_listed(text, result, depth - 1)
    return kept


def _get_elements(node: ast.expr) -> list[ast.expr]:
    """Return what a comprehension or a display of a list is written of."""
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        inner = _get_elements(node.elt)
        return inner or [node.elt]
    if isinstance(node, ast.List):
        return [part for part in node.elts if not isinstance(part, ast.Constant)]
    return []


def _collect_kept(text: SourceText, argument: ast.expr) -> list[ast.expr]:
    """Return what a file appends to a list: `losses.append(x)`, `losses += [x]`."""
    written = text.written(argument)
    kept: list[ast.expr] = []
    for node in text.nodes:
        match node:
            case ast.Call(ast.Attribute(owner, "append"), [item]):
                if text.written(owner) == written:
                    kept.append(item)
            case ast.AugAssign(target, ast.Add(), ast.List(items)):
                if text.written(target) == written:
                    kept += items
    return kept
