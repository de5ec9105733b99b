"""Where in the program text something stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text, counted as editors count: from 1, end exclusive.

    Example: in ``x = self.fc1(x)`` at line 21, ``self.fc1(x)`` is
    ``Span("model.py", 21, 13, 21, 24)``. Columns are characters, not bytes.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def start(self) -> Span:
        """The empty stretch before it."""
        return Span(self.file, self.line, self.column, self.line, self.column)

    @property
    def end(self) -> Span:
        """The empty stretch behind it."""
        line, column = self.end_line, self.end_column
        return Span(self.file, line, column, line, column)

    def until(self, other: Span) -> Span:
        """From the start of this one to the end of another."""
        return Span(self.file, self.line, self.column, other.end_line, other.end_column)


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of the chain of calls that led to an op."""

    span: Span
    function: str
