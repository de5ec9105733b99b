"""A trace as text for the terminal."""

from shapewright.views.terminal.page import text

__all__ = ["text"]
