"""The text of programs: spans, edits, expressions, loops and definitions."""

from shapewright.program.spans import Frame, Span

__all__ = ["Frame", "Span"]
