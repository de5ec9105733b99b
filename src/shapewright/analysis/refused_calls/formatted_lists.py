"""Lists where a format takes one number: the rates that a schedule has for each group
of parameters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

REFUSED = re.compile(
    r"unsupported format string passed to list\.__format__"
    r"|must be real number, not list"
)
RATES = frozenset({"get_last_lr", "get_lr"})


def find_formatted_list(program: Program, finding: Finding) -> Explanation | None:
    """Return that the rates of a schedule are a list, of which one is formatted, or
    None.
    """
    place = program.node(finding.span)
    if REFUSED.search(finding.words) is None or place is None:
        return None
    text, node = place
    places = []
    for value in _iter_formatted(node):
        source = find_known_value(text, value) if isinstance(value, ast.Name) else value
        if get_called_name(source) in RATES and _is_placed(text, value):
            places.append(value)
    if not places:
        return None
    written = text.line_of(places[0])
    message = (
        f"`{written}` is a list, with the rate of each group of parameters, and the"
        " format takes one number"
    )
    edits = tuple(Edit(text.span(value).end, "[0]") for value in places)
    return Explanation(message, (), (Fix("fits", f"`{written}[0]`", edits),))


def _iter_formatted(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a statement formats as a number: in `f"{x:.3f}"`, with
    `"{:.3f}".format(x)` and with `"%.3f" % x`.
    """
    for part in ast.walk(node):
        if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
            yield part.value
        elif isinstance(part, ast.Call) and get_called_name(part) == "format":
            yield from part.args
            yield from (word.value for word in part.keywords)
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            items = part.right.elts if isinstance(part.right, ast.Tuple) else []
            yield from items or [part.right]


def _is_placed(text: SourceText, value: ast.expr) -> bool:
    """Return whether the text at an expression's place is the expression: within texts
    of several lines older versions of Python tell other places.
    """
    return text.written(value).strip() == ast.unparse(value)
