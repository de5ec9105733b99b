"""An error of a library that need not be there: a program's text and what was said."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding
from shapewright.program.spans import Span, apply_edits

FILE = "program.py"
Find = Callable[[Program, Finding], Explanation | None]


def explain(find: Find, text: str, at: str, words: str) -> Explanation | None:
    """Return the cause that a function finds for an error in a text."""
    before = text[: text.rindex(at)]
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    span = Span(FILE, line, column, line, column + len(at))
    trace = SimpleNamespace(sources={}, ops=(), calls=())
    program = Program(trace, sources={FILE: text})  # type: ignore[arg-type]
    return find(program, Finding("program-error", "error", words, span))


def mend(text: str, edits: tuple[Edit, ...]) -> str:
    """Return a text after the edits of a fix."""
    return apply_edits(text, [(edit.span, edit.text) for edit in edits])
