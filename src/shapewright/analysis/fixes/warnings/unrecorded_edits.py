"""Edits for terms of a loss that are computed where torch records no graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.autograd_errors.lost_graphs import write_without_numpy
from shapewright.analysis.fixes.statements import cut_head, write_after
from shapewright.analysis.hazards.unrecorded_terms import COPIED
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_line,
    get_last_name,
)

WITHOUT_GRAPH = ("no_grad", "inference_mode")


def suggest_recorded_term(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to compute a term behind the `with torch.no_grad():` around it, with all
    that follows in that block, or without the decorator of its function.
    """
    if "under `torch.no_grad()`" not in finding.message:
        return
    if not isinstance(node, ast.expr | ast.stmt):
        return
    statement = text.statement_of(node)
    block = text.parent(statement)
    if isinstance(block, ast.With) and _has_no_graph(block):
        if statement is block.body[0]:
            head = join_lines(text.written(block.items[0].context_expr))
            yield Fix("fits", f"without `with {head}:`", (cut_head(text, block),))
        else:
            edit = _take_out(text, block, statement)
            shown = join_lines(text.written(statement))
            yield Fix("fits", f"`{shown}` outside of `torch.no_grad()`", (edit,))
        return
    function = text.around(node, *FUNCTIONS)
    for mark in getattr(function, "decorator_list", ()):
        name = get_called_name(mark) or get_last_name(mark)
        if name in WITHOUT_GRAPH:
            span = Span(text.file, mark.lineno, 1, get_last_line(mark) + 1, 1)
            shown = f"without `@{join_lines(text.written(mark))}`"
            yield Fix("fits", shown, (Edit(span, ""),))


def suggest_tensor_for_copy(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `out[kept]` for `torch.from_numpy(out.data.numpy()[kept]).to(device)`, at
    each such line of a term.
    """
    edits: dict[Span, tuple[Edit, str]] = {}
    for related in finding.related:
        place = program.node(related.span) if related.message == COPIED else None
        if place is None or place[0] is not text or not isinstance(place[1], ast.Call):
            continue
        call = place[1]
        new = write_without_numpy(text, call.args[0]) if call.args else ""
        span = text.span(_find_moved(text, call))
        if new:
            edits[span] = Edit(span, new), join_lines(new)
    if edits:
        shown = next(iter(edits.values()))[1]
        yield Fix("fits", f"`{shown}`", tuple(edit for edit, _ in edits.values()))


def suggest_written_items(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `locations[step] = location` in the loop that fills the tensors beside,
    where it is the only name of the loop that nothing reads.
    """
    scope = text.around(node, *FUNCTIONS) or text.tree
    if "still the zeros" not in finding.message or scope is None:
        return
    name = finding.message.split("`")[1]
    for loop in ast.walk(scope):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        fills = [
            part
            for part in loop.body
            if isinstance(part, ast.Assign)
            and isinstance(part.targets[0], ast.Subscript)
            and text.written(part.targets[0].slice) == loop.target.id
        ]
        reads = {
            part.id
            for part in ast.walk(scope)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)
        }
        unread = [
            part.id
            for assigned in loop.body
            if isinstance(assigned, ast.Assign) and isinstance(assigned.value, ast.Call)
            for part in ast.walk(assigned.targets[0])
            if isinstance(part, ast.Name) and part.id not in {*reads, "_"}
        ]
        if fills and len(unread) == 1:
            new = f"{name}[{loop.target.id}] = {unread[0]}"
            yield Fix("fits", f"`{new}`", (write_after(text, fills[-1], new),))
            return


def _find_moved(text: SourceText, call: ast.Call) -> ast.expr:
    """Return the expression that moves a new tensor to a device, or its call."""
    node: ast.expr = call
    while True:
        method = text.parent(node)
        moved = text.parent(method) if method is not None else None
        if not isinstance(method, ast.Attribute) or not isinstance(moved, ast.Call):
            return node
        if method.attr not in MOVES or moved.func is not method:
            return node
        node = moved


MOVES = ("to", "cuda", "cpu", "float", "requires_grad_")
"""Methods behind a copy that the tensor itself does not need."""


def _has_no_graph(block: ast.With) -> bool:
    """Return whether a block is `with torch.no_grad():` and nothing else."""
    return len(block.items) == 1 and (
        get_called_name(block.items[0].context_expr) in WITHOUT_GRAPH
    )


def _take_out(text: SourceText, block: ast.With, first: ast.stmt) -> Edit:
    """Return the edit that moves the last statements of a block behind it."""
    extra = first.col_offset - block.col_offset
    end = get_last_line(block)
    rows = [
        row[extra:] if row[:extra].isspace() else row
        for row in text.lines[first.lineno - 1 : end]
    ]
    last = len(text.lines[end - 1]) + 1
    return Edit(Span(text.file, first.lineno, 1, end, last), "\n".join(rows))
