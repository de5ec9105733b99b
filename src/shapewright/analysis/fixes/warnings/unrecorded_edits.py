"""Edits for terms of a loss that are computed where torch records no graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import cut_head
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
