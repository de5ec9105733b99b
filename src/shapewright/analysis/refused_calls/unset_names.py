"""Names that a loop adds to and that nothing sets before it: `total += loss.item()`,
`losses.append(loss)`.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS, get_first_line, iter_own_nodes

UNSET = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)' where")
GROWING = {"append": "[]", "extend": "[]", "add": "set()", "update": "{}"}
"""What a name is before a loop calls these methods of it."""
STARTS: dict[type[ast.operator], str] = {ast.Add: "0", ast.Sub: "0", ast.Mult: "1"}


def find_unset_name(program: Program, finding: Finding) -> Explanation | None:
    """Return which name a loop adds to without a value to begin with, or None."""
    unset = UNSET.search(finding.words)
    place = program.node(finding.span)
    if unset is None or place is None:
        return None
    text, node = place
    name = unset[1] or unset[2]
    statement = text.statement_of(node)
    loop = text.around(statement, ast.For, ast.While)
    start = _find_start(statement, name)
    if not start or loop is None:
        return None
    message = f"the loop adds to `{name}`, which nothing sets before it"
    if _is_set_outside(text, statement, name):
        message = (
            f"`{name}` is set outside of the function, and `{text.line_of(statement)}`"
            " makes it a name of the function's own"
        )
        return Explanation(message)
    line = get_first_line(loop)
    indent = text.lines[line - 1][: loop.col_offset]
    edit = Edit(Span(text.file, line, 1, line, 1), f"{indent}{name} = {start}\n")
    shown = f"`{name} = {start}` before the loop"
    return Explanation(message, (), (Fix("fits", shown, (edit,)),))


def _find_start(statement: ast.stmt, name: str) -> str:
    """Return what a name is to be before a statement that adds to it."""
    if isinstance(statement, ast.AugAssign):
        is_meant = (
            isinstance(statement.target, ast.Name) and statement.target.id == name
        )
        start = STARTS.get(type(statement.op), "")
        if isinstance(statement.value, ast.List | ast.ListComp):
            start = "[]"
        return start if is_meant else ""
    for node in ast.walk(statement):
        func = node.func if isinstance(node, ast.Call) else None
        owner = func.value if isinstance(func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id == name:
            assert isinstance(func, ast.Attribute)
            return GROWING.get(func.attr, "")
    return ""


def _is_set_outside(text: SourceText, statement: ast.stmt, name: str) -> bool:
    """Return whether a name of a function is one of the module, too."""
    if text.around(statement, *FUNCTIONS) is None:
        return False
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        for node in iter_own_nodes(text.tree)
    )
