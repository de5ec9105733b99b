"""Names that nothing sets: one that a loop adds to, `total += loss.item()`, one that a
function reads above the line that sets it, one that a chain of branches tests and sets
itself, and an optimizer under another name.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.unset_arguments import find_unset_argument
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_first_line,
    get_last_line,
    is_optimizer,
    iter_assignments,
    iter_own_nodes,
)

UNSET = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)' where")
GROWING = {"append": "[]", "extend": "[]", "add": "set()", "update": "{}"}
"""What a name is before a loop calls these methods of it."""
OPTIMIZERS = ("optimizer", "optim", "opt")
"""What an optimizer is usually called."""
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
    if name in OPTIMIZERS:
        return _explain_optimizer(text, node, name)
    of_argument = find_unset_argument(text, statement, name)
    if of_argument is not None:
        return of_argument
    if isinstance(statement, ast.If):
        of_chain = _find_name_of_chain(text, statement, name)
        if of_chain is not None:
            return of_chain
    start = _find_start(statement, name)
    if not start or loop is None:
        return _find_late_name(program, finding, text, node, name)
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


def _find_name_of_chain(
    text: SourceText, branch: ast.If, name: str
) -> Explanation | None:
    """Return that a branch tests the name which the branches of its chain set, where
    those above it compare another one: `elif weights == "none":` for `mode`.
    """
    chain = [branch]
    while isinstance(above := text.parent(chain[0]), ast.If):
        if above.orelse != [chain[0]]:
            break
        chain.insert(0, above)
    at = chain.index(branch)
    while len(below := chain[-1].orelse) == 1 and isinstance(below[0], ast.If):
        chain.append(below[0])
    stores = [
        part
        for other in chain[:at]
        for statement in other.body
        for part in ast.walk(statement)
        if isinstance(part, ast.Name) and part.id == name
        if isinstance(part.ctx, ast.Store)
    ]
    compared = [part for other in chain[:at] for part in _list_compared(other.test)]
    meant = {text.written(part) for part in compared}
    reads = [
        part
        for other in chain[at:]
        for part in _list_compared(other.test)
        if isinstance(part, ast.Name) and part.id == name
    ]
    if not stores or len(meant) != 1 or name in meant or not reads:
        return None
    other_name = meant.pop()
    message = (
        f"`{name}` has no value where this branch tests it: the branches of the chain"
        f" set it, and the one above compares `{other_name}`"
    )
    related = (
        Related(text.span(compared[0]), f"`{other_name}` is compared here"),
        Related(text.span(stores[0]), f"`{name}` is set here"),
    )
    edits = tuple(Edit(text.span(part), other_name) for part in reads)
    fix = Fix("fits", f"`{other_name}` for `{name}`", edits)
    return Explanation(message, related, (fix,))


def _list_compared(test: ast.expr) -> list[ast.expr]:
    """Return what a test compares with a constant, or with several of them."""
    return [
        part.left
        for part in ast.walk(test)
        if isinstance(part, ast.Compare)
        if isinstance(part.left, ast.Name | ast.Attribute | ast.Subscript)
        if all(_is_constant(other) for other in part.comparators)
        if not any(isinstance(kind, ast.Is | ast.IsNot) for kind in part.ops)
    ]


def _is_constant(node: ast.expr) -> bool:
    """Return whether an expression is a constant, or a list of constants."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return all(isinstance(part, ast.Constant) for part in parts)


def _explain_optimizer(
    text: SourceText, node: ast.AST, name: str
) -> Explanation | None:
    """Explain an optimizer that the program has under one other name."""
    others = [
        (target, value)
        for target, value in iter_assignments(text.tree)
        if isinstance(target, ast.Name) and is_optimizer(value)
    ]
    read = next(
        (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name), None
    )
    if len(others) != 1 or read is None:
        return None
    target, value = others[0]
    other = text.written(target)
    message = f"no name `{name}` is set: the optimizer of the program is `{other}`"
    related = (Related(text.span(value), f"`{other}` is built here"),)
    fix = Fix("fits", f"`{other}`", (Edit(text.span(read), other),))
    return Explanation(message, related, (fix,))


def _find_late_name(
    program: Program, finding: Finding, text: SourceText, node: ast.AST, name: str
) -> Explanation | None:
    """Return where a function sets a name that it reads above, with the tensor that it
    is made of in its place.
    """
    function = text.around(node, *FUNCTIONS)
    if function is None or "local variable" not in finding.words:
        return None
    uses = [
        part
        for part in iter_own_nodes(function)
        if isinstance(part, ast.Name) and part.id == name
    ]
    stores = [part for part in uses if isinstance(part.ctx, ast.Store)]
    statement = text.statement_of(node)  # type: ignore[arg-type]
    end = get_last_line(statement)
    if not stores or any(store.lineno <= end for store in stores):
        return None
    first = min(stores, key=lambda store: store.lineno)
    setting = text.statement_of(first)
    message = f"`{name}` is read here and set only below, at line {first.lineno}"
    related = (Related(text.span(setting), f"`{name}` is set here"),)
    looped = text.around(statement, ast.For, ast.While)
    if looped is not None and looped in text.outwards(setting):
        return Explanation(message, related)  # of the turn before, from the second on
    if _is_set_outside(text, statement, name):
        message += ", which makes it a name of the function's own"
        return Explanation(message, related)
    tensors = program.ending.tensors if program.ending is not None else {}
    others = [
        other
        for other in tensors
        if other.isidentifier() and other not in collect_names(statement)
    ]
    reads = [part for part in uses if part.lineno < first.lineno]
    if len(others) != 1:
        return Explanation(message, related)
    edits = tuple(Edit(text.span(read), others[0]) for read in reads)
    fix = Fix("fits", f"`{others[0]}` for `{name}`", edits)
    return Explanation(message, related, (fix,))


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
