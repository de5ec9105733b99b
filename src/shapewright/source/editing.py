"""Edits of a text: spans replaced, nothing else touched."""

from __future__ import annotations

from collections.abc import Iterable

from shapewright.source.span import Span


def apply_edits(text: str, edits: Iterable[tuple[Span, str]]) -> str:
    """The text with each span replaced. Spans must not overlap.

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
