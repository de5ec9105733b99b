"""Backward passes of a dict of losses, such as those of a model with several heads."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
)

OF_DICT = re.compile(
    r"'(dict|OrderedDict|defaultdict)' object has no attribute 'backward'"
)
TOTALS = ("loss", "total_loss", "total")
"""The keys under which a dict of losses holds their sum."""


def find_several_losses(program: Program, finding: Finding) -> Explanation | None:
    """Return that a dict of losses is no loss, with its sum or its total, or None."""
    place = program.node(finding.span)
    if OF_DICT.search(finding.words) is None or place is None:
        return None
    text = place[0]
    reads = (node for node in ast.walk(place[1]) if isinstance(node, ast.Attribute))
    losses = next((node.value for node in reads if node.attr == "backward"), None)
    if not isinstance(losses, ast.Name):
        return None
    value = _find_call(text, losses)
    keys = _list_keys(program, value) if value is not None else []
    total = next((key for key in TOTALS if key in keys), None)
    message = f"`{losses.id}` is a dict of losses, and no loss"
    message += f": it holds {', '.join(f'`{key}`' for key in keys)}" if keys else ""
    related = (
        (Related(text.span(value), f"`{losses.id}` is set here"),) if value else ()
    )
    ending = f'["{total}"]' if total is not None else ".values()"
    if value is not None and not _is_read_as_dict(text, losses):
        written, span = text.written(value), text.span(value)
    else:
        written, span = losses.id, text.span(losses)
    new = f"{written}{ending}" if total is not None else f"sum({written}{ending})"
    fix = Fix("fits", f"`{join_lines(new)}`", (Edit(span, new),))
    return Explanation(message, related, (fix,))


def _find_call(text: SourceText, name: ast.Name) -> ast.Call | None:
    """Return the call whose result a name of a function is set to, if it is one."""
    scope = text.around(name, *FUNCTIONS)
    values = [
        node.value
        for node in text.nodes
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name.id for t in node.targets)
        and text.around(node, *FUNCTIONS) is scope
    ]
    value = values[0] if len(values) == 1 else None
    return value if isinstance(value, ast.Call) else None


def _list_keys(program: Program, call: ast.Call) -> list[str]:
    """Return the keys of the dict that a function of the program returns."""
    for text in program.own_texts():
        for _, function in text.functions(get_called_name(call)):
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Dict):
                    keys = node.value.keys
                    return [
                        key.value
                        for key in keys
                        if isinstance(key, ast.Constant) and isinstance(key.value, str)
                    ]
    return []


def _is_read_as_dict(text: SourceText, name: ast.Name) -> bool:
    """Return whether a function also reads an item or a method of a dict."""
    scope = text.around(name, *FUNCTIONS)
    for node in text.nodes:
        if isinstance(node, ast.Subscript | ast.Call):
            owner = node.value if isinstance(node, ast.Subscript) else node.func
            of_dict = isinstance(node, ast.Subscript) or (
                isinstance(owner, ast.Attribute)
                and owner.attr in ("items", "values", "keys", "get")
            )
            owner = owner.value if isinstance(owner, ast.Attribute) else owner
            is_same = isinstance(owner, ast.Name) and owner.id == name.id
            if of_dict and is_same and text.around(node, *FUNCTIONS) is scope:
                return True
    return False
