"""Something to tell the user, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shapewright.findings.fix import Fix
from shapewright.source.span import Span

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to tell the user: what, where, how bad.

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
