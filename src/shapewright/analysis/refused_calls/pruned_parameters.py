"""`prune.remove` of layers that were not pruned."""

from __future__ import annotations

import ast

from shapewright.analysis.fixes.statements import wrap_in_condition
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name

REFUSED = "has to be pruned before pruning can be removed"


def find_unpruned_parameter(program: Program, finding: Finding) -> Explanation | None:
    """Return that a layer is not among those that were pruned, or None."""
    place = program.call_at(finding.span)
    if REFUSED not in finding.words or place is None or len(place[1].args) != 2:
        return None
    text, call = place
    if get_called_name(call) != "remove":
        return None
    layer = text.written(call.args[0])
    message = (
        f"`{layer}` was not pruned: `prune.remove` takes the mask of what was, and no"
        " other layer has one"
    )
    pruned = _find_pruned(text)
    related = tuple(
        Related(text.span(value), "these are pruned") for value, _ in pruned
    )
    return Explanation(message, related[:1], tuple(_list_fixes(text, call, pruned)))


def _find_pruned(text: SourceText) -> list[tuple[ast.expr, str]]:
    """Return the lists of layers and names that a global pruning is given."""
    pruned: list[tuple[ast.expr, str]] = []
    for node in text.nodes:
        if isinstance(node, ast.Call) and node.args:
            name = node.args[0]
            if get_called_name(node) != "global_unstructured":
                continue
            if isinstance(name, ast.Name):
                pruned += [(value, name.id) for value in find_defining(text, name.id)]
    return pruned


def _list_fixes(
    text: SourceText, call: ast.Call, pruned: list[tuple[ast.expr, str]]
) -> list[Fix]:
    """Return the loop over what was pruned, and a test for each layer."""
    statement = text.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return []
    fixes = []
    loop = text.around(call, ast.For)
    inner: ast.AST | None = loop
    while isinstance(inner, ast.For | ast.If) and len(inner.body) == 1:
        inner = inner.body[0] if not inner.orelse else None
    if loop is not None and inner is statement and len({n for _, n in pruned}) == 1:
        indent = text.lines[loop.lineno - 1][: loop.col_offset]
        head = f"for module, name in {pruned[0][1]}:"
        func = text.written(call.func)
        new = f"{head}\n{indent}    {func}(module, name)"
        fixes.append(Fix("fits", f"`{head}`", (Edit(text.span(loop), new),)))
    name = call.args[1]
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        test = f'hasattr({text.written(call.args[0])}, "{name.value}_orig")'
        edit = wrap_in_condition(text, statement, test)
        fixes.append(Fix("fits", f"`if {test}:`", (edit,)))
    return fixes
