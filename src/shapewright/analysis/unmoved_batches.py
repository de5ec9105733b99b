"""Batches of a loader that a loop does not move to the device of its model, as another
loop does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Fact

FOLLOWED = 40
"""Calls that are followed back to a loader."""
EARLY = 4
"""Statements at the head of a loop that may move its batch."""
MOVING = frozenset({"to", "cuda"})


@dataclass(frozen=True, slots=True)
class _UnmovedBatch:
    """A loop over a loader; `names` hold the parts of its batch, from `last` on."""

    text: SourceText
    loop: ast.For
    names: tuple[str, ...]
    last: ast.stmt | None
    is_partial: bool = False  # the loop moves other parts of its batch


def find_unmoved_batch(program: Program, fact: Fact) -> _UnmovedBatch | None:
    """Return the loop over a loader that a tensor on the CPU comes from, or None."""
    for _ in range(FOLLOWED):
        maker = program.producers.get(fact.tensor)
        if maker is None:
            return None
        text = program.text(maker.span.file) if maker.span is not None else None
        for node in text.nodes if text is not None else ():
            if text is None or maker.span is None or not isinstance(node, ast.For):
                continue
            end = node.iter.end_lineno or node.lineno
            if node.lineno <= maker.span.line <= end:
                return _read_loop(text, node)
        if not maker.inputs:
            return None
        fact = maker.inputs[0]
    return None


def _read_loop(text: SourceText, loop: ast.For) -> _UnmovedBatch | None:
    """Return the names of the parts of a loop's batch."""
    target: ast.expr = loop.target
    if get_called_name(loop.iter) == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[-1]
    last: ast.stmt | None = None
    if isinstance(target, ast.Name):
        for statement in loop.body[:EARLY]:
            if not isinstance(statement, ast.Assign):
                continue
            value, parts = statement.value, statement.targets[0]
            if isinstance(value, ast.Name) and value.id == target.id:
                target, last = parts, statement
                break
    elts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = [part.id for part in elts if isinstance(part, ast.Name)]
    names = [name for name in names if name != "_"]
    if not names or len(names) < len(elts) - 1:
        return None
    moved = {
        text.written(node.func.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MOVING
    }
    left = tuple(name for name in names if name not in moved)
    if moved & set(names) and left:
        return _UnmovedBatch(text, loop, left, last, True)
    return _UnmovedBatch(text, loop, tuple(names), last)


def describe_unmoved_batch(batch: _UnmovedBatch) -> tuple[str, list[Related]]:
    """Return in words that a loop does not move its batch, with the places."""
    written = join_lines(batch.text.written(batch.loop.iter))
    how = "moved in part only" if batch.is_partial else "not moved"
    why = f"the batch of `{written}` at line {batch.loop.lineno} is {how}"
    related = [Related(batch.text.span(batch.loop.iter), "the batch comes from here")]
    for other in _iter_moving(batch):
        place = Related(batch.text.span(other[0]), "another loop moves its batch here")
        return why, [*related, place]
    return why, related


def suggest_moved_batch(batch: _UnmovedBatch, moves: Iterator[str]) -> Iterator[Fix]:
    """Suggest the statements by which another loop moves the same parts of its batch,
    or `x, y = x.to(device), y.to(device)`.
    """
    text, names = batch.text, batch.names
    lines = []
    for statements in _iter_moving(batch):
        lines.append([text.written(statement) for statement in statements])
    for move in moves:
        is_whole = len(names) == 1 and batch.last is None
        if is_whole and _is_table(batch):
            parts = f"{{k: v{move} for k, v in {names[0]}.items()}}"
            lines.append([f"{names[0]} = {parts}"])
        parts = ", ".join(f"{name}{move}" for name in names)
        lines.append([f"{', '.join(names)} = {parts}"])
    for new in {tuple(way): None for way in lines}:
        edits = []
        for line in new:
            if batch.last is not None:
                edits.append(write_after(text, batch.last, line))
            else:
                edits.append(write_before(text, batch.loop.body[0], line))
        where = f"in the loop over `{join_lines(text.written(batch.loop.iter))}`"
        shown = "; ".join(join_lines(line) for line in new)
        yield Fix("fits", f"`{shown}` {where}", tuple(edits))


def _iter_moving(batch: _UnmovedBatch) -> Iterator[list[ast.Assign]]:
    """Yield the statements at the head of other loops that move batches with the same
    names.
    """
    text = batch.text
    for loop in text.nodes:
        if not isinstance(loop, ast.For) or loop is batch.loop:
            continue
        other = _read_loop(text, loop)
        if other is None or other.names != batch.names:
            continue
        moving = [
            statement
            for statement in loop.body[:EARLY]
            if isinstance(statement, ast.Assign)
            and _is_moving(text, statement)
            and set(_list_names(statement.targets[0])) <= set(batch.names)
        ]
        if moving:
            yield moving


def _is_moving(text: SourceText, statement: ast.Assign) -> bool:
    """Return whether an assignment moves what it reads, itself or in a function."""
    for node in ast.walk(statement.value):
        if not isinstance(node, ast.Call):
            continue
        name = get_called_name(node)
        if name in MOVING or "device" in name.lower() or "cuda" in name.lower():
            return True
    return False


def _list_names(target: ast.expr) -> list[str]:
    """Return the names that an assignment sets."""
    elts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [part.id if isinstance(part, ast.Name) else "" for part in elts]


def _is_table(batch: _UnmovedBatch) -> bool:
    """Return whether a loop reads its batch by keys, `batch["image"]`."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == batch.names[0]
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        for node in ast.walk(batch.loop)
    )
