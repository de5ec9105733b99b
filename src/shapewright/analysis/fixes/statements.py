"""Edits of whole statements: inserted, removed, replaced."""

from __future__ import annotations

import ast

from shapewright.findings.finding import Edit
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_last_line


def write_before(text: SourceText, statement: ast.stmt, new: str) -> Edit:
    """Return the edit that inserts a statement above another one."""
    return _write_at(text, statement.lineno, statement, new)


def write_after(text: SourceText, statement: ast.stmt, new: str) -> Edit:
    """Return the edit that inserts a statement below another one."""
    return _write_at(text, get_last_line(statement) + 1, statement, new)


def _write_at(text: SourceText, line: int, like: ast.stmt, new: str) -> Edit:
    """Return the edit that inserts a statement, indented like another one."""
    indent = text.lines[like.lineno - 1][: like.col_offset]
    if line > len(text.lines):
        last = len(text.lines)
        end = len(text.lines[-1]) + 1
        return Edit(Span(text.file, last, end, last, end), f"\n{indent}{new}")
    return Edit(Span(text.file, line, 1, line, 1), f"{indent}{new}\n")


def wrap_in_no_grad(text: SourceText, statement: ast.stmt) -> Edit | None:
    """Return the edit that puts `with torch.no_grad():` around a statement and those of
    its kind beside it.
    """
    body = getattr(text.parent(statement), "body", [])
    if statement not in body:
        return None
    first = last = body.index(statement)
    if isinstance(statement, ast.AugAssign | ast.Assign):
        while last + 1 < len(body) and _is_alike(body[last + 1], statement):
            last += 1
        while first and _is_alike(body[first - 1], statement):
            first -= 1
    return _put_below(text, "with torch.no_grad():", body[first], body[last])


def find_clip_behind(text: SourceText, backward: ast.stmt) -> ast.stmt | None:
    """Return the last statement that clips gradients behind a backward pass in its
    block, or None.
    """
    clips = [
        part
        for part in find_block(text, backward)
        if isinstance(part, ast.Expr)
        and part.lineno > backward.lineno
        and get_called_name(part.value).startswith("clip_grad")
    ]
    return clips[-1] if clips else None


def cut_head(text: SourceText, block: ast.With) -> Edit:
    """Return the edit that leaves the statements of a `with` block without it."""
    first, end = block.body[0], get_last_line(block)
    extra = first.col_offset - block.col_offset
    rows = [
        row[extra:] if row[:extra].isspace() else row
        for row in text.lines[first.lineno - 1 : end]
    ]
    last = len(text.lines[end - 1]) + 1
    return Edit(Span(text.file, block.lineno, 1, end, last), "\n".join(rows))


def wrap_in_condition(text: SourceText, statement: ast.stmt, condition: str) -> Edit:
    """Return the edit that puts `if condition:` above a statement."""
    return _put_below(text, f"if {condition}:", statement, statement)


def _put_below(text: SourceText, head: str, first: ast.stmt, last: ast.stmt) -> Edit:
    """Return the edit that puts statements below a line, and indents them."""
    begin, end = first.lineno, get_last_line(last)
    line = text.lines[begin - 1]
    indent = line[: len(line) - len(line.lstrip())]  # `a(); b()` stay together
    rows = [f"    {row}" if row.strip() else row for row in text.lines[begin - 1 : end]]
    new = "\n".join([f"{indent}{head}", *rows])
    span = Span(text.file, begin, 1, end, len(text.lines[end - 1]) + 1)
    return Edit(span, new)


def _is_alike(statement: ast.stmt, other: ast.stmt) -> bool:
    """Return whether two statements write in place in the same way."""
    if isinstance(statement, ast.AugAssign) and isinstance(other, ast.AugAssign):
        return True
    if isinstance(statement, ast.Assign) and isinstance(other, ast.Assign):
        kinds = {type(assignment.targets[0]) for assignment in (statement, other)}
        return kinds == {ast.Subscript}
    return False


def cut_lines(text: SourceText, statement: ast.stmt) -> Edit:
    """Return the edit that removes a statement with its lines."""
    last = get_last_line(statement)
    if last < len(text.lines):
        return Edit(Span(text.file, statement.lineno, 1, last + 1, 1), "")
    end = len(text.lines[last - 1]) + 1
    return Edit(Span(text.file, statement.lineno, 1, last, end), "")


def replace_lines(text: SourceText, statement: ast.stmt, new: str) -> Edit:
    """Return the edit that writes other lines in place of those of a statement."""
    last = get_last_line(statement)
    end = len(text.lines[last - 1]) + 1
    return Edit(Span(text.file, statement.lineno, 1, last, end), new)


def find_block(text: SourceText, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements of the block in which one stands: a body, an `else`."""
    around = text.parent(statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(around, name, [])
        if isinstance(block, list) and statement in block:
            return block
    return []
