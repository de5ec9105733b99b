"""Places of a program that was mended, in the text as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from shapewright.analysis.program_run import Program
from shapewright.commands.check.fixes import (
    Place,
    Tried,
    list_failures,
)
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.program.spans import Span

LINE = re.compile(r"(?<=\bline )\d+\b")
"""The number of a line in a message."""


def move_tried(fix: Fix, tried: Tried) -> Tried:
    """Return the outcome of a run with a fix, its places at the lines of the program
    that was edited: what an inserted statement has moved down is no other failure.
    """

    def move(place: Place) -> Place:
        return (place[0], fix.find_old_line(place[0], place[1]), place[2])

    return replace(
        tried,
        failures=tuple(map(move, tried.failures)),
        warnings=tuple(map(move, tried.warnings)),
        notes=tuple(map(move, tried.notes)),
        operands=tuple((move(place), shapes) for place, shapes in tried.operands),
        refusals=tuple((move(place), words) for place, words in tried.refusals),
    )


def _match_lines(
    new: Sequence[str], old: Sequence[str], how: str = "equal"
) -> dict[int, int]:
    """Return the lines of a text that are in another one, from 1 on: the equal ones, or
    those that were mended (`replace`) without one more or less.
    """
    matcher = SequenceMatcher(None, new, old, autojunk=False)
    return {
        first + n + 1: start + n + 1
        for tag, first, last, start, end in matcher.get_opcodes()
        if tag == how and last - first == end - start
        for n in range(last - first)
    }


@dataclass(frozen=True, slots=True)
class OriginalLines:
    """Where the lines of a mended program stand in the original one."""

    original: Program
    mended: Program

    def find(self, span: Span | None) -> Span | None:
        """Return the span of the same text in the original, None if it was mended."""
        if span is None or self._is_same(span.file):
            return span
        places = self._list_places(span.file)
        first, last = places.get(span.line), places.get(span.end_line)
        if first is None or last is None:
            return self._find_in_line(span) if span.line == span.end_line else None
        if last - first != span.end_line - span.line:
            return None
        return replace(span, line=first, end_line=last)

    def find_number(self, file: str, line: int) -> int:
        """Return the number of a line in the original, or of one that was mended."""
        span = self.find_line(Span(file, line, 1, line, 1))
        return span.line if span is not None else 0

    def find_line(self, span: Span | None) -> Span | None:
        """Return the span of the same text, or the whole line that was mended there."""
        whole = self.find(span)
        if whole is not None or span is None:
            return whole
        line, written, _ = self._find_written(span)
        start = len(written) - len(written.lstrip())
        end = len(written) + 1
        return Span(span.file, line, start + 1, line, end) if line else None

    def _find_in_line(self, span: Span) -> Span | None:
        """Return the span of the same text in a line of which another part was
        mended.
        """
        line, written, mended = self._find_written(span)
        start, end = span.column - 1, span.end_column - 1
        matcher = SequenceMatcher(None, mended, written, autojunk=False)
        for block in matcher.get_matching_blocks() if line else ():
            if block.a <= start and end <= block.a + block.size:
                by = block.b - block.a + 1
                return Span(span.file, line, start + by, line, end + by)
        return None

    def _find_written(self, span: Span) -> tuple[int, str, str]:
        """Return the line in the original of one that was mended, what it says there
        and what it says now; 0 if there is none.
        """
        old, new = self.original.text(span.file), self.mended.text(span.file)
        line = self._list_places(span.file, "replace").get(span.line, 0)
        if old is None or new is None or not line:
            return 0, "", ""
        return line, old.lines[line - 1], new.lines[span.line - 1]

    def move(self, finding: Finding) -> Finding | None:
        """Return a finding with its places and edits in the original text; None if
        there is no such place.
        """
        span = self.find_line(finding.span)
        if span is None:
            return None
        related: list[Related] = []
        for place in finding.related:
            moved = self.find_line(place.span)
            if moved is not None:
                related.append(replace(place, span=moved))
        fixes = [fix for fix in map(self.move_fix, finding.fixes) if fix is not None]
        message = LINE.sub(
            lambda match: str(self.find_number(span.file, int(match[0])) or match[0]),
            finding.message,
        )
        return replace(
            finding, span=span, message=message, related=tuple(related),
            fixes=tuple(fixes),
        )  # fmt: skip

    def move_fix(self, fix: Fix) -> Fix | None:
        """Return a fix as edits of the original text, None if they change what was
        mended.
        """
        edits: list[Edit] = []
        for edit in fix.edits:
            span = self.find(edit.span)
            if span is None:
                return None
            edits.append(replace(edit, span=span))
        return replace(fix, edits=tuple(edits))

    def _is_same(self, file: str) -> bool:
        """Return whether nothing of a file was mended."""
        old, new = self.original.text(file), self.mended.text(file)
        return old is None or new is None or old.lines == new.lines

    def _list_places(self, file: str, how: str = "equal") -> dict[int, int]:
        """Return the lines of a mended file that are in the original, from 1 on: the
        equal ones, or those that were mended (`replace`) without one more or less.
        """
        old, new = self.original.text(file), self.mended.text(file)
        if old is None or new is None:
            return {}
        return _match_lines(new.lines, old.lines, how)


def list_failed_lines(before: Program, rerun: Program) -> set[tuple[str, int]]:
    """Return the lines of a program at which a run with fixes of it fails."""
    where = OriginalLines(before, rerun)
    return {(f, where.find_number(f, n)) for f, n, _ in list_failures(rerun)}
