"""Program text: spans and, later, edits."""

from shapewright.program.spans import Frame, Span

__all__ = ["Frame", "Span"]
