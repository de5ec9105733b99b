"""Edits of whole statements: inserted, removed, replaced."""

from __future__ import annotations

import ast

from shapewright.findings.finding import Edit
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_last_line


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
