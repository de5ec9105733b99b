"""Spans of a program's text, edits that replace them, and texts that stand in for files
while an edit is tried.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed libraries."""
_LIBRARY_FOLDERS = tuple({sysconfig.get_paths()[k] for k in ("purelib", "platlib")})


@cache
def is_installed(filename: str) -> bool:
    """Return whether a file belongs to an installed library, not to the program."""
    return filename.startswith(_LIBRARY_FOLDERS) or any(
        folder in filename for folder in INSTALLED
    )


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text, counted as in editors: from 1, end exclusive.

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
        """Return the empty span before this span."""
        return Span(self.file, self.line, self.column, self.line, self.column)

    @property
    def end(self) -> Span:
        """Return the empty span after this span."""
        line, column = self.end_line, self.end_column
        return Span(self.file, line, column, line, column)

    def until(self, other: Span) -> Span:
        """Return the span from the start of this span to the end of another one."""
        return Span(self.file, self.line, self.column, other.end_line, other.end_column)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame in the chain of calls that led to an op."""

    span: Span
    function: str


def apply_edits(text: str, edits: Iterable[tuple[Span, str]]) -> str:
    """Return the text with every span replaced. Spans must not overlap.

    Example: ``apply_edits("f(x)", [(Span("a.py", 1, 3, 1, 4), "y")])`` is ``"f(y)"``.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    placed = sorted(
        (
            starts[span.line - 1] + span.column - 1,
            starts[span.end_line - 1] + span.end_column - 1,
            new,
        )
        for span, new in edits
    )
    parts: list[str] = []
    last = 0
    for start, end, new in placed:
        assert start >= last, "edits overlap"
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]])


STAND_INS: dict[str, str] = {}
"""Replacement texts by absolute path, filled only in a child that tries an edit."""
