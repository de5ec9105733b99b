"""Vocabularies that one function reads, extends and writes to another file, where the
size of a table is still that of the old file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

LOADING = frozenset({"load"})
WRITING = frozenset({"dump", "save"})
GROWING = frozenset({"append", "extend", "setdefault", "update", "add"})
"""Methods that add to a dict, a list or a set."""


@dataclass(frozen=True, slots=True)
class _Access:
    """A call that reads a name from a file, or writes it to one."""

    text: SourceText
    scope: ast.AST | None
    name: str
    file: ast.Constant


def suggest_written_file(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the file that a longer vocabulary was written to, for the one before."""
    pair = _find_old_read(program, failure)
    if pair is not None:
        old, new = pair
        before, name = old.text.written(old.file), str(new.file.value)
        after = before.replace(str(old.file.value), name)
        edit = Edit(old.text.span(old.file), after)
        yield Fix("fits", f"`{after}` for `{before}`", (edit,))


def describe_old_file(program: Program, failure: Failure) -> Related | None:
    """Return where the file of a vocabulary is read that was written anew elsewhere."""
    pair = _find_old_read(program, failure)
    if pair is None:
        return None
    old, new = pair
    line = new.file.lineno
    words = (
        f"this reads {old.file.value!r}, and the vocabulary that line {line} writes to"
        f" {new.file.value!r} has more entries"
    )
    return Related(old.text.span(old.file), words)


def _find_old_read(
    program: Program, failure: Failure
) -> tuple[_Access, _Access] | None:
    """Return the one place that counts what it reads of a file, and the place that
    writes it with more entries to another file.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    is_lookup = op.name.rpartition(".")[2] == "embedding"
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or not is_lookup:
        return None
    reads = list(_iter_accesses(program, LOADING))
    pairs = [
        (old, new)
        for new in _iter_accesses(program, WRITING)
        for source in reads
        if source.scope is new.scope is not None and source.name == new.name
        if source.file.value != new.file.value
        if _has_growth(source.scope, source.name)
        for old in reads
        if old.scope is not source.scope and old.file.value == source.file.value
        if _has_count(old.scope or old.text.tree, old.name)
    ]
    return pairs[0] if len(pairs) == 1 else None


def _iter_accesses(program: Program, kinds: frozenset[str]) -> Iterator[_Access]:
    """Yield the calls that read or write a name, with the constant of its file."""
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) not in kinds:
                continue
            is_read = kinds is LOADING
            if len(call.args) < (1 if is_read else 2):
                continue
            holder, value = text.parent(call), call.args[0]
            target = value
            if is_read and isinstance(holder, ast.Assign):
                target = holder.targets[0]
            file = _find_file(text, call, call.args[0 if is_read else 1])
            if isinstance(target, ast.Name) and file is not None:
                scope = text.around(call, *FUNCTIONS)
                yield _Access(text, scope, target.id, file)


def _find_file(
    text: SourceText, call: ast.Call, place: ast.expr
) -> ast.Constant | None:
    """Return the name of a file in a path, or in the `open` that a handle is of."""
    if isinstance(place, ast.Name):
        block = text.around(call, ast.With)
        items = block.items if isinstance(block, ast.With) else []
        opened = [
            item.context_expr
            for item in items
            if isinstance(item.optional_vars, ast.Name)
            and item.optional_vars.id == place.id
        ]
        if not opened:
            return None
        place = opened[0]
    if isinstance(place, ast.Call) and get_called_name(place) == "open" and place.args:
        place = place.args[0]
    names = [
        part
        for part in ast.walk(place)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
        if "." in part.value.strip("./")
    ]
    return names[0] if len(names) == 1 else None


def _has_growth(scope: ast.AST | None, name: str) -> bool:
    """Return whether a function adds entries to a name."""
    for part in ast.walk(scope) if scope is not None else ():
        owner = part.value if isinstance(part, ast.Subscript | ast.Attribute) else None
        if not isinstance(owner, ast.Name) or owner.id != name:
            continue
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            return True
        if isinstance(part, ast.Attribute) and part.attr in GROWING:
            return True
    return False


def _has_count(scope: ast.AST | None, name: str) -> bool:
    """Return whether a function counts the entries of a name: `len(tags)`."""
    return any(
        get_called_name(part) == "len"
        and isinstance(part, ast.Call)
        and any(isinstance(a, ast.Name) and a.id == name for a in part.args)
        for part in (ast.walk(scope) if scope is not None else ())
    )
