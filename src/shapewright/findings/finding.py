"""A finding, its related places and the edits that fix it, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from shapewright.program.spans import Span

Grade = Literal["safe", "fits", "sketch"]
"""safe: the meaning is provably kept. fits: it runs and every dim checks; what was
meant is not proven. sketch: it has a placeholder."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Text that replaces a span; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to repair a finding.

    `message` names the new text, as in "`nn.Linear(16 * 4 * 4, 120)`". `checked` says
    that the program was run with it: the finding was gone, and no other came.
    """

    grade: Grade
    message: str
    edits: tuple[Edit, ...]
    checked: bool = False

    def find_new_line(self, file: str, line: int) -> int:
        """Return where a line stands when the fix is made."""
        return line + self._count_added(file, line)

    def find_old_line(self, file: str, line: int) -> int:
        """Return where a line of the text with the fix stood before it."""
        for added in range(self._count_added(file, line), -1, -1):
            if self._count_added(file, line - added) == added:
                return line - added
        return line

    def _count_added(self, file: str, line: int) -> int:
        """Return how many lines the fix adds in front of a line."""
        return sum(
            edit.text.count("\n") - (edit.span.end_line - edit.span.line)
            for edit in self.edits
            if edit.span.file == file
            and (edit.span.end_line < line or edit.text.endswith("\n"))
            and edit.span.line <= line
        )


Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding to report to the user: what is wrong, where, and how severe it is.

    `code` is a stable kebab-case name, `message` a lowercase sentence that stands
    alone, `torch_message` what torch itself says (people search for that). `lines` go
    below it where they help: shapes lined up, arithmetic.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    module: str = ""
    torch_message: str = ""
    related: tuple[Related, ...] = ()
    count: int = 1
    fixes: tuple[Fix, ...] = ()
    sizes: str = ""
    lines: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Return the file of the finding, empty if it has no place."""
        return self.span.file if self.span is not None else ""

    @property
    def words(self) -> str:
        """Return what the finding says and what torch said, to search in both."""
        return f"{self.message} {self.torch_message}"

    @property
    def line(self) -> int:
        """Return the line of the finding from 1 on, 0 if it has no place."""
        return self.span.line if self.span is not None else 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an error comes from: a sentence, the places that belong to it, and the edits
    that may mend it. `code` is empty where the finding keeps its own.
    """

    message: str
    related: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    code: str = ""

    def apply(self, finding: Finding) -> Finding:
        """Return the finding with this sentence and these places, and the first words
        as what was raised.
        """
        raised = finding.torch_message or finding.message.partition(": ")[2]
        return replace(
            finding, code=self.code or finding.code, message=self.message,
            torch_message=raised, related=(*self.related, *finding.related),
        )  # fmt: skip
