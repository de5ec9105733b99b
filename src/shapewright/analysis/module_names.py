"""Names of modules that torch refuses: a dot separates the levels of a path."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name

REFUSED = re.compile(r"module name can.{1,2}t contain \"\.\", got: ([^'\"]+)")
CHANGE = '.replace(".", "_")'


def find_dotted_name(program: Program, finding: Finding) -> Explanation | None:
    """Return that a key of a `ModuleDict` has a dot, or None."""
    refused = REFUSED.search(finding.words)
    place = program.node(finding.span)
    if refused is None or place is None:
        return None
    text, node = place
    message = (
        f"`{refused[1].strip()}` is no name for a module: a dot separates the levels in"
        " the names of parameters"
    )
    edits = _write_names(text, node)
    fixes = (Fix("fits", f"`{CHANGE}` for the keys", edits),) if edits else ()
    return Explanation(message, (), fixes)


def _write_names(text: SourceText, node: ast.AST) -> tuple[Edit, ...]:
    """Return the edits of the keys where modules are put in and where they are read."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    keys: list[ast.expr] = []
    for part in ast.walk(statement):
        if isinstance(part, ast.DictComp):
            keys.append(part.key)
        elif isinstance(part, ast.Call) and get_called_name(part) == "add_module":
            keys += part.args[:1]
    targets = getattr(statement, "targets", [])
    owners = {text.written(target) for target in targets}
    for target in targets:
        if isinstance(target, ast.Subscript):
            owners.add(text.written(target.value))
    for part in text.nodes:
        if isinstance(part, ast.Subscript) and text.written(part.value) in owners:
            keys.append(part.slice)
    return tuple(
        Edit(text.span(key).end, CHANGE)
        for key in dict.fromkeys(keys)
        if isinstance(key, ast.Name | ast.Attribute)
    )
