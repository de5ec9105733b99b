"""A trace as text for the terminal."""

from shapewright.views.terminal.trace_tables import text

__all__ = ["text"]
