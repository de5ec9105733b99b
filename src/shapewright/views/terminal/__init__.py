"""A trace as text for the terminal."""

from shapewright.views.terminal.trace_tables import (
    TableOptions,
    check_table_options,
    format_trace,
)

__all__ = ["TableOptions", "check_table_options", "format_trace"]
