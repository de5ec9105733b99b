"""Layers in a loop each of which gets the first input, and not what the one before it
returned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import FUNCTIONS, collect_names, list_reads
from shapewright.record.ops import collect_leaves

LATER = re.compile(r"\.([1-9]\d*)(\.|$)")
"""In the path of a module that is not the first of its list."""
PLACES = re.compile(r"\.\d+(?=\.|$)")
"""In the path of a module that is in a list."""


@dataclass(frozen=True, slots=True)
class UnpassedResult:
    """A call in a loop over layers: what it is given each time, and what it returns."""

    text: SourceText
    loop: ast.For
    statement: ast.Assign
    handed: ast.Name
    returned: ast.expr


def suggest_chained_layers(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `out = layer(out)` in a loop for `out = layer(x)`."""
    unpassed = _find_unpassed(program, failure)
    if unpassed is not None:
        yield build_chained_fix(unpassed)


def build_chained_fix(unpassed: UnpassedResult) -> Fix:
    """Return the edit by which each layer of a loop gets what the one before it
    returned: under the name that is read, of the two.
    """
    text, returned, argument = unpassed.text, unpassed.returned, unpassed.handed
    scope = text.around(unpassed.loop, *FUNCTIONS) or unpassed.loop
    if not isinstance(returned, ast.Name):
        new = f"{argument.id} = {text.written(returned)}"
        edit = write_after(text, unpassed.statement, new)
        return Fix("fits", f"`{join_lines(new)}` behind the call", (edit,))
    if is_unread(scope, returned.id):
        renamed = tuple(
            Edit(text.span(name), argument.id)
            for name in ast.walk(scope)
            if isinstance(name, ast.Name) and name.id == returned.id
        )
        new = f"{argument.id} = {text.written(unpassed.statement.value)}"
        is_alone = unpassed.statement.targets == [returned] and len(renamed) == 1
        shown = new if is_alone else f"{argument.id}` for `{returned.id}"
        return Fix("fits", f"`{join_lines(shown)}`", renamed)
    edits = [Edit(text.span(argument), returned.id)]
    value = text.written(unpassed.statement.value)
    start = argument.col_offset - unpassed.statement.value.col_offset
    shown = f"`{returned.id}` for `{argument.id}`"
    if argument.lineno == unpassed.statement.value.lineno and value.isascii():
        changed = value[:start] + returned.id + value[start + len(argument.id) :]
        shown = f"`{join_lines(changed)}`"
    if not _is_set_before(scope, unpassed.loop, returned.id):
        first = f"{returned.id} = {argument.id}"
        edits.insert(0, write_before(text, unpassed.loop, first))
        shown += f", with `{first}` before the loop"
    return Fix("fits", shown, tuple(edits))


def describe_unchained_layers(program: Program, failure: Failure) -> Related | None:
    """Return the note that each layer of a loop gets the first input."""
    unpassed = _find_unpassed(program, failure)
    if unpassed is None:
        return None
    written = join_lines(unpassed.text.written(unpassed.returned))
    words = (
        f"each layer of the loop gets `{unpassed.handed.id}` here: `{written}`, which"
    )
    words += " the one before it returned, is not passed on"
    return Related(unpassed.text.span(unpassed.handed), words)


def _find_unpassed(program: Program, failure: Failure) -> UnpassedResult | None:
    """Return the call in a loop that gives a later layer what the first one was given,
    where that has another size than the layer reads.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    call = program.call_of(op)
    path = op.module if call is None else call.path
    if unmet is None or type(unmet.needs) is not int:
        return None
    if not _has_size_before(program, path, unmet.needs):
        return None
    for frame in reversed(op.frames):
        place = program.node(frame.span)
        if place is None:
            continue
        text, node = place
        loop = text.around(node, ast.For)
        if loop is None or text.around(node, *FUNCTIONS) is not text.around(
            loop, *FUNCTIONS
        ):
            continue
        unpassed = find_unpassed(text, loop, node)
        if unpassed is not None and is_over_layers(loop, path):
            return unpassed
    return None


def _has_size_before(program: Program, path: str, size: int) -> bool:
    """Return whether the module in front of one in a list returned a size."""
    before = {
        f"{path[: match.start()]}.{int(match[1]) - 1}" for match in LATER.finditer(path)
    }
    return any(
        size in fact.shape
        for call in program.trace.calls
        if call.path in before
        for fact in collect_leaves(call.output)
    )


def is_over_layers(loop: ast.For, path: str) -> bool:
    """Return whether a loop goes over the list of modules that a path is in, or its
    places.
    """
    names = {
        part.attr for part in ast.walk(loop) if isinstance(part, ast.Attribute)
    } | collect_names(loop)
    lists = [match.start() for match in PLACES.finditer(path)]
    return any(path[:at].rpartition(".")[2] in names for at in lists)


def find_unpassed(
    text: SourceText, loop: ast.For, node: ast.AST
) -> UnpassedResult | None:
    """Return the call of a loop that reads a name from above it, and returns another
    that no later turn reads.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.Assign) or statement not in loop.body:
        return None
    value, target = statement.value, statement.targets[0]
    inner = node if isinstance(node, ast.Call) else value
    if not isinstance(inner, ast.Call):
        return None
    stored = {
        name for other in (loop.target, *loop.body)
        for name in collect_names(other, ast.Store)
    }  # fmt: skip
    argument = next((a for a in inner.args if isinstance(a, ast.Name)), None)
    while isinstance(target, ast.Tuple | ast.List) and target.elts:
        target = target.elts[0]
    if argument is not None and argument.id in collect_names(loop.target):
        argument = next(
            (
                a
                for a in inner.args
                if isinstance(a, ast.Name) and a.id not in collect_names(loop.target)
            ),
            None,
        )
    if argument is None or argument.id in stored:
        return None
    if isinstance(target, ast.Name):
        before = loop.body[: loop.body.index(statement)]
        reads = {n for other in before for n in collect_names(other, ast.Load)}
        if target.id in reads | collect_names(value, ast.Load):
            return None  # the next turn reads it
    elif not isinstance(target, ast.Subscript):
        return None
    return UnpassedResult(text, loop, statement, argument, target)


def is_unread(scope: ast.AST, name: str) -> bool:
    """Return whether a piece of code reads a name at most to give it another value."""
    own = {
        id(part)
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign)
        and [ast.unparse(target) for target in node.targets] == [name]
        for part in list_reads(node.value, name)
    }
    return all(id(node) in own for node in list_reads(scope, name))


def _is_set_before(scope: ast.AST | None, loop: ast.For, name: str) -> bool:
    """Return whether a name is set above a loop in its function."""
    return any(
        isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id == name
        and node.lineno < loop.lineno
        for node in (ast.walk(scope) if scope is not None else ())
    )
