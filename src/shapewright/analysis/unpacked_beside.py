"""Calls whose result is one tuple here and is taken apart elsewhere:
`y_pred = model(x)` in an evaluation, and `y_pred, att = model(x)` in the training.
"""

from __future__ import annotations

import ast

from shapewright.findings.codes import TUPLE_AS_TENSOR
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_dotted_name


def explain_unpacked_beside(text: SourceText, name: str) -> Explanation | None:
    """Explain a tuple under a name, if one call gives a name of it all that another
    call of the same function takes apart.
    """
    unpacked: dict[str, tuple[ast.Assign, int]] = {}
    whole: list[tuple[ast.Assign, str]] = []
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        called = get_dotted_name(node.value.func)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and called:
            unpacked.setdefault(called, (node, len(target.elts)))
        elif isinstance(target, ast.Name) and called:
            whole.append((node, called))
    pairs = [
        (node, *unpacked[called])
        for node, called in whole
        if called in unpacked and getattr(node.targets[0], "id", "") == name
    ]
    if len(pairs) != 1:
        return None
    node, beside, count = pairs[0]
    call = text.line_of(node.value)
    message = (
        f"`{name}` is a tuple: `{call}` at line {node.lineno} returns {count} values,"
        f" which line {beside.lineno} takes apart"
    )
    rest = ", _" * (count - 1)
    edit = Edit(text.span(node.targets[0]).end, rest)
    fix = Fix("fits", f"`{name}{rest} = {call}`", (edit,))
    related = (
        Related(text.span(node), "the tuple is kept whole here"),
        Related(text.span(beside), "the values are taken apart here"),
    )
    return Explanation(message, related, (fix,), TUPLE_AS_TENSOR)
