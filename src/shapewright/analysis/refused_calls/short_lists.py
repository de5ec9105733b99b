"""Lists and containers of layers with fewer items than a loop counts:
`layers[i]` for `i in range(n)`.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
)

BEYOND = re.compile(r"index \d+ is out of range|(?:list|tuple) index out of range")


def find_short_list(program: Program, finding: Finding) -> Explanation | None:
    """Return how many items a list has, and how far a loop counts, or None."""
    place = program.node(finding.span)
    values = program.ending.values if program.ending is not None else {}
    if place is None or BEYOND.search(finding.words) is None:
        return None
    text, node = place
    for read in ast.walk(node):
        if not isinstance(read, ast.Subscript) or not isinstance(read.slice, ast.Name):
            continue
        name, index = get_dotted_name(read.value), read.slice.id
        length, at = values.get(f"len({name})"), values.get(index)
        count = _find_count(text, read, index)
        if type(length) is not int or type(at) is not int or count is None:
            continue
        if at < length:
            continue
        limit = text.line_of(count)
        known = values.get(limit)
        end = f", {known}" if type(known) is int and limit != str(known) else ""
        items = "1 item" if length == 1 else f"{length} items"
        message = f"`{name}` has {items}, and `{index}` counts up to `{limit}`{end}"
        related = (Related(text.span(count), "the loop counts up to this"),)
        new = f"len({name})"
        if _is_optional(text, read, name):
            new = f"{limit} if {name} is None else {new}"
        fix = Fix("fits", f"`range({new})`", (Edit(text.span(count), new),))
        return Explanation(message, related, (fix,))
    return None


def _find_count(text: SourceText, node: ast.AST, index: str) -> ast.expr | None:
    """Return the end of the `range` over which a name runs around a node."""
    for outer in text.outwards(node):
        loops: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(outer, ast.For):
            loops = [(outer.target, outer.iter)]
        elif isinstance(outer, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            loops = [(part.target, part.iter) for part in outer.generators]
        for target, source in loops:
            if index not in collect_names(target):
                continue
            if isinstance(source, ast.Call) and get_called_name(source) == "range":
                return source.args[min(1, len(source.args) - 1)]
            return None
    return None


def _is_optional(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether a name is an argument of the function with None as its default."""
    function = text.around(node, *FUNCTIONS)
    arguments = getattr(function, "args", None)
    if arguments is None:
        return False
    own = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    return any(
        argument.arg == name and getattr(default, "value", "") is None
        for argument, default in zip(own, arguments.defaults, strict=True)
    )
