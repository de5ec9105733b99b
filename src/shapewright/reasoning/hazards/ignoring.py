"""Hazards that the user switched off, by a comment at the place."""

from __future__ import annotations

import re
from functools import lru_cache

from shapewright.findings.finding import Finding
from shapewright.reasoning.program import Program

COMMENT = re.compile(r"#\s*shapewright:\s*ignore\[([\w\s,-]+)\]")


def ignored_here(program: Program, finding: Finding) -> bool:
    """Whether a comment names the finding's code: at the end of a line of the call, or
    on a line of its own above it.

    Example: ``loss = pred - target  # shapewright: ignore[outer-broadcast]``
    """
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if span is None or text is None or "shapewright:" not in text.text:
        return False
    lines = text.lines[span.line - 1 : span.end_line]
    first = statement_line(program, finding) - 1
    if first > 0 and text.lines[first - 1].lstrip().startswith("#"):
        lines.append(text.lines[first - 1])
    return any(finding.code in codes(line) for line in lines)


def statement_line(program: Program, finding: Finding) -> int:
    """The line on which the statement begins that holds a finding."""
    import ast

    assert finding.span is not None
    found = program.node(finding.span)
    if found is None:
        return finding.span.line
    text, node = found
    held = node if isinstance(node, ast.stmt) else text.around(node, ast.stmt)
    return held.lineno if isinstance(held, ast.stmt) else finding.span.line


@lru_cache(maxsize=256)
def codes(line: str) -> frozenset[str]:
    """The codes that a comment in a line switches off."""
    found = COMMENT.search(line)
    if found is None:
        return frozenset()
    return frozenset(code.strip() for code in found.group(1).split(","))
