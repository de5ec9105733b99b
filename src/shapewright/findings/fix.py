"""A change of the program's text that makes it work, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shapewright.source.span import Span

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
