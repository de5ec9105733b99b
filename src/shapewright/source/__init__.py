"""Program text: spans and, later, edits."""

from shapewright.source.span import Frame, Span

__all__ = ["Frame", "Span"]
