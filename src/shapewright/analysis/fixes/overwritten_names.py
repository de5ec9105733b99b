"""A name that is assigned twice, the second time from another name by mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import find_block
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import collect_names


def suggest_unread_name(program: Program, span: Span | None) -> Iterator[Fix]:
    """Suggest `b = f(b)` for `b = f(a)` where the line before assigns `b`, which
    nothing reads.
    """
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return
    for node in text.near(span.line):
        statement = text.statement_of(node)
        if isinstance(statement, ast.Assign):
            yield from _suggest_for(text, statement)
        return


def _suggest_for(text: SourceText, statement: ast.Assign) -> Iterator[Fix]:
    """Suggest the name that a statement writes in place of one that it reads."""
    target, value = statement.targets[0], statement.value
    block = find_block(text, statement)
    at = block.index(statement) if statement in block else 0
    if not isinstance(target, ast.Name) or not at or not isinstance(value, ast.Call):
        return
    before = block[at - 1]
    if not isinstance(before, ast.Assign) or target.id in collect_names(value):
        return
    written = {name for node in before.targets for name in collect_names(node)}
    if target.id not in written:
        return
    read = _find_first_name(value)
    if read is not None:
        edit = Edit(text.span(read), target.id)
        yield Fix("fits", f"`{target.id}` for `{read.id}`", (edit,))


def _find_first_name(value: ast.Call) -> ast.Name | None:
    """Return the name that a call works on: the first argument of a function, or the
    tensor at the beginning of a chain of methods, `att` of `att.mT.view(b, -1)`.
    """
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    for argument in (call.args[0] for call in calls if call.args):
        if isinstance(argument, ast.Name) and not _is_size_of_method(calls, argument):
            return argument
    return _get_tensor(value)


def _get_tensor(chain: ast.expr) -> ast.Name | None:
    """Return the name of the tensor at the beginning of a chain of methods."""
    while isinstance(chain, ast.Call | ast.Attribute):
        chain = chain.func if isinstance(chain, ast.Call) else chain.value
    return chain if isinstance(chain, ast.Name) and chain.id not in MODULES else None


MODULES = frozenset({"torch", "F", "nn", "self", "np", "einops"})
"""Names at the beginning of a chain that are no tensors."""


def _is_size_of_method(calls: list[ast.Call], argument: ast.Name) -> bool:
    """Return whether a name is a size that a method gets, as in `x.view(batch, -1)`."""
    for call in calls:
        if call.args[:1] == [argument] and isinstance(call.func, ast.Attribute):
            return _get_tensor(call.func.value) is not None
    return False
