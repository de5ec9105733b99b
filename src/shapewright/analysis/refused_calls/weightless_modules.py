"""Norms of weights for modules that have none: `spectral_norm` of an activation."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.statements import wrap_in_condition
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.syntax_nodes import get_called_name

REFUSED = re.compile(
    r"Module '(\w+)\(.*has no parameter or buffer with name 'weight'"
    r"|Module '(\w+)\(.*does not have a parameter, a buffer, .* name 'weight'"
    r"|'(\w+)' object has no attribute 'weight'|KeyError`?: '?weight"
)
NORMS = ("spectral_norm", "weight_norm", "orthogonal")


def find_weightless_module(program: Program, finding: Finding) -> Explanation | None:
    """Return that a norm of weights is asked of a module without, or None."""
    refused = REFUSED.search(finding.words)
    place = program.node(finding.span) if refused is not None else None
    if place is None or refused is None:
        return None
    text, node = place
    calls = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and get_called_name(part) in NORMS
    ]
    if len(calls) != 1 or not calls[0].args:
        return None
    call = calls[0]
    kind = refused[1] or refused[2] or refused[3]
    name, taken = get_called_name(call), text.line_of(call.args[0])
    what = f"`{taken}` is a `{kind}` here" if kind else f"`{taken}` has none here"
    message = f"`{name}` is for modules with a `weight`, and {what}"
    message += ", which has none" if kind else ""
    if not isinstance(call.args[0], ast.Name):
        return Explanation(message)
    test = f'hasattr({taken}, "weight")'
    holder = text.parent(call)
    if isinstance(holder, ast.Expr):
        edit = wrap_in_condition(text, holder, test)
        return Explanation(message, (), (Fix("fits", f"`if {test}:`", (edit,)),))
    end = f" if {test} else {taken}"
    edit = Edit(text.span(call).end, end)
    shown = f"`{text.line_of(call)}{end}`"
    return Explanation(message, (), (Fix("fits", shown, (edit,)),))
