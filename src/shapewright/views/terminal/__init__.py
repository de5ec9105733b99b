"""A trace as text for the terminal."""

from shapewright.views.terminal.trace_tables import format_trace

__all__ = ["format_trace"]
