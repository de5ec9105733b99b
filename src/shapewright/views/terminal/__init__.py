"""A trace as text for the terminal."""

from shapewright.views.terminal.trace_tables import TableOptions, format_trace

__all__ = ["TableOptions", "format_trace"]
