"""Methods that are handed on from their class, `collate_fn=Items.collate`, and called
without an object.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, iter_assignments

MISSING = re.compile(
    r"(\w+)\.(\w+)\(\) missing (?:1 required positional argument|\d+ required)"
)
"""Python's words for a call of a method with an argument too few."""


def find_unbound_method(program: Program, finding: Finding) -> Explanation | None:
    """Return which method was handed on from its class, so that its first argument is
    taken for `self`, or None.
    """
    match = MISSING.search(f"{finding.message} {finding.torch_message}")
    if match is None:
        return None
    owner, method = match.groups()
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Attribute) or node.attr != method:
                continue
            if text.written(node.value) != owner or _is_called(text, node):
                continue
            message = (
                f"`{owner}.{method}` is handed on from its class, without an object:"
                " what it is called with is taken for `self`"
            )
            fixes = tuple(
                Fix("fits", f"`{name}.{method}`", (Edit(text.span(node.value), name),))
                for name in _list_objects(text, node, owner)
            )
            related = (Related(text.span(node), "it is handed on here"),)
            return Explanation(message, related, fixes)
    return None


def _is_called(text: SourceText, node: ast.Attribute) -> bool:
    """Return whether a method is called where it is named."""
    around = text.parent(node)
    return isinstance(around, ast.Call) and around.func is node


def _list_objects(text: SourceText, node: ast.Attribute, owner: str) -> list[str]:
    """Return the objects of a class that may be meant: what stands first in the call
    that gets the method, and names that the class is called for.
    """
    call = text.around(node, ast.Call)
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    named = [
        word.value
        for word in (call.keywords if isinstance(call, ast.Call) else ())
        if word.arg == "dataset"
    ]
    places = [place for place in (first, *named) if isinstance(place, ast.Name)]
    names = [place.id for place in places]
    names += [
        target.id
        for target, value in iter_assignments(text.tree)
        if isinstance(target, ast.Name) and get_called_name(value) == owner
    ]
    return list(dict.fromkeys(names))
