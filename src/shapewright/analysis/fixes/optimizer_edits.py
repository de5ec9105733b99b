"""Edits for the list of parameters that an optimizer is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.finding import Edit, Fix
from shapewright.program.parameter_lists import (
    ParameterList,
    find_unlisted,
    iter_parameter_lists,
)
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

MOST = 3
"""Modules that are tried in a list."""


def suggest_listed_modules(text: SourceText) -> Iterator[Fix]:
    """Suggest a module that no optimizer has: in the place of one that a list has
    twice, or beside the others.
    """
    lists = list(iter_parameter_lists(text))
    lists.sort(key=lambda listed: listed.repeated is None)
    for listed in lists:
        for name in find_unlisted(text, listed)[:MOST]:
            repeated = listed.repeated
            if repeated is not None:
                new = f"{name}.parameters()"
                yield Fix("fits", f"`{new}`", (Edit(text.span(repeated), new),))
            else:
                yield from _suggest_longer_list(text, listed, name)


def _suggest_longer_list(
    text: SourceText, listed: ParameterList, name: str
) -> Iterator[Fix]:
    """Suggest a list with the parameters of one more module."""
    expr = listed.listed
    written = text.written(expr)
    if expr is listed.parts[0] and len(listed.parts) == 1:
        new = f"[*{written}, *{name}.parameters()]"
    elif isinstance(expr, ast.BinOp) and isinstance(expr.op, ast.Add):
        new = f"{written} + list({name}.parameters())"
    elif isinstance(expr, ast.Call) and get_called_name(expr) == "chain":
        new = f"{written[:-1]}, {name}.parameters())"
    elif isinstance(expr, ast.List) and isinstance(expr.elts[0], ast.Starred):
        new = f"{written[:-1]}, *{name}.parameters()]"
    else:
        return
    yield Fix("fits", f"`{new}`", (Edit(text.span(expr), new),))
